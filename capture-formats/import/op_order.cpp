// SPDX-License-Identifier: Apache-2.0
#include "op_order.hpp"

#include <algorithm>
#include <cstring>

namespace fsr {

bool OpOrder::add(Op op) {
  const bool in_order = op.start >= last_;
  if (!in_order) {
    op.duration = std::max<int64_t>(op.end() - last_, 0);
    op.start = last_;
  }
  Held held{.op = op};
  size_t bytes = op.name.size() + op.name2.size() + op.data.size();
  for (const DirEntry& e : op.entries) bytes += e.name.size();
  held.text = std::make_unique<char[]>(bytes);
  char* at = held.text.get();
  auto keep = [&](std::string_view& text) {
    if (!text.empty()) memcpy(at, text.data(), text.size());
    text = {at, text.size()};
    at += text.size();
  };
  keep(held.op.name);
  keep(held.op.name2);
  keep(held.op.data);
  held.entries.assign(op.entries.begin(), op.entries.end());
  for (DirEntry& e : held.entries) keep(e.name);
  if (op.set) held.set = *op.set;
  if (op.attr) held.attr = *op.attr;
  held_.emplace(op.start, std::move(held));
  if (held_.size() > window_) pass_first();
  return in_order;
}

void OpOrder::pass_first() {
  Held held = std::move(held_.begin()->second);
  held_.erase(held_.begin());
  last_ = held.op.start;
  held.op.entries = held.entries;
  if (held.op.set) held.op.set = &held.set;
  if (held.op.attr) held.op.attr = &held.attr;
  next_(held.op);
}

void OpOrder::passed(int64_t start) {
  while (!held_.empty() && held_.begin()->first < start) pass_first();
}

}  // namespace fsr
