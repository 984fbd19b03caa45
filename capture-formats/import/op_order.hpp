// SPDX-License-Identifier: Apache-2.0
// Sorts operations that come roughly in order of start, within a window. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "op_source.hpp"

namespace fsr {

class OpOrder {
 public:
  using Next = std::function<void(const Op& op)>;
  // `next` receives the operations in order. `window`: operations that are held back at most.
  OpOrder(size_t window, Next next) : window_(window), next_(std::move(next)) {}

  // Copies what `op` points to, except `op.who`. False: a later operation had to be passed on already. Then the start of
  // `op` becomes that operation's start; its end stays, or becomes the start if it lies before.
  bool add(Op op);
  void passed(int64_t start);  // says that no operation with an earlier start will be added
  void finish() { passed(INT64_MAX); }

 private:
  struct Held {
    Op op;
    Attr set, attr;
    std::unique_ptr<char[]> text;  // names and data
    std::vector<DirEntry> entries;
  };
  void pass_first();

  const size_t window_;
  const Next next_;
  std::multimap<int64_t, Held> held_;  // by start; operations of one start in the order of arrival
  int64_t last_ = INT64_MIN;
};

}  // namespace fsr
