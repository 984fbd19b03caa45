// SPDX-License-Identifier: Apache-2.0
// Pairs the operations of two traces that share their ids, as a capture and its replay do. The n-th operation of a thread with
// certain arguments belongs to the n-th such operation of the other trace. Outcomes are compared pair by pair. Listings are
// compared by their names, because servers may split them differently. One thread.
//
// The traces are read side by side. Memory grows with the distance of pairs up to a limit; beyond it, operations stay alone.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "op.hpp"

namespace fsr::fstrace {

class Pairing {
 public:
  enum Side : uint8_t { first, second };
  struct Kind {
    uint64_t pairs = 0, differing = 0;
    std::array<std::map<int32_t, uint64_t>, 2> alone;  // of each side, by error, -1: unfinished
  };

  // `names`: files have the same names in both traces. False: pairs are found without names, and listings are compared by length.
  explicit Pairing(bool names) : names_(names) {}

  void add(const Op& op, Side side);
  void finish();  // operations without a pair by now are alone

  const Kind& kind(OpKind kind) const { return kinds_[size_t(kind)]; }
  uint64_t pairs() const;
  uint64_t differing() const;
  uint64_t alone(Side side) const;
  const std::vector<std::string>& examples() const { return examples_; }  // the first that differ

 private:
  struct Outcome {
    int32_t error = 0;  // -1: unfinished
    uint64_t result = 0;
    bool operator==(const Outcome&) const = default;
  };
  struct Waiting {
    Side side;
    OpKind kind;
    Outcome outcome;
    uint64_t seq;
  };
  struct Listing {
    uint64_t names = 0, sum = 0, number = 0;
    bool known = true, open = false;
  };

  uint64_t key(const Op& op) const;
  void pair(uint64_t key, const Op& op, Side side, Outcome outcome, bool listing);
  void list(const Op& op, Side side);
  void settle(const Op& op, Side side, Listing& listing);
  void differs(const Op& op, uint64_t other, const std::string& one, const std::string& two);

  const bool names_;
  std::array<Kind, kOpKinds> kinds_;
  std::unordered_map<uint64_t, std::list<Waiting>> waiting_;  // all of one side
  size_t waits_ = 0;
  std::array<std::unordered_map<HandleId, Listing>, 2> listings_;
  std::vector<std::string> examples_;
};

}  // namespace fsr::fstrace
