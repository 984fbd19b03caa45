// SPDX-License-Identifier: Apache-2.0
// Tells what follows from operations that were not done, since the target has none like them or they are unsafe: an outcome that
// differs where the operation touches what such a one was to change, or what one before it did not change for that reason.
//
// Thread-safe. Costs nothing while everything is done. Memory is bounded: beyond it, what follows is no longer told apart.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "op.hpp"
#include "plan/accesses.hpp"
#include "util/object_set.hpp"

namespace fsr {

class KnockOnTracker {
 public:
  struct Cause {
    uint64_t seq = 0;
    OpKind kind = OpKind::null;
    std::string name;
  };

  // Operations that changed the captured tree and were not done, so that the target's tree differs from it.
  struct LeftOut {
    static constexpr size_t kNamed = 5;
    uint64_t count = 0;
    std::vector<Cause> first;  // the earliest ones

    void add(Cause cause);
    void merge(const LeftOut& other);
  };

  void not_done(const Op& op);
  // Whether an operation whose outcome differs follows; if so, what it was to change counts as not done, and so does what it
  // changed where it failed in the capture and succeeded on the target.
  bool follows(const Op& op, bool succeeded);
  // Whether the operation could remove a directory that was not empty in the capture, because what was in it was not made.
  bool would_remove(const Op& op);
  std::optional<Cause> first();  // the earliest cause that something followed from
  LeftOut left_out();

 private:
  void collect(const Op& op);
  std::optional<uint32_t> cause_of(const Op& op);
  void spread(uint32_t cause);

  std::mutex mutex_;
  ObjectSet known_, locked_, nameless_;
  AccessList accesses_;
  std::vector<Cause> causes_;
  std::unordered_map<uint64_t, uint32_t> unchanged_;  // what was to be changed, and the cause
  std::optional<uint32_t> first_;
  LeftOut left_out_;
};

}  // namespace fsr
