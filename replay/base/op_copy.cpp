// SPDX-License-Identifier: Apache-2.0
#include "base/op_copy.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "util/check.hpp"

namespace fsr {

size_t OpCopy::bytes(const Op& op, bool complete) {
  size_t n = op.name.size() + op.name2.size() + op.data.size() + op.entries.size_bytes() + op.blocks.size_bytes();
  for (const DirEntry& e : op.entries) n += e.name.size();
  if (op.set) n += sizeof(Attr);
  if (complete && op.attr) n += sizeof(Attr);
  if (complete && op.who) n += sizeof(ThreadInfo) + op.who->command.size();
  return n;
}

void OpCopy::assign(const Op& op, bool complete) {
  size_t need = bytes(op, complete);
  std::byte* at = inline_.data();
  if (need > kInline) {
    if (need > capacity_) {
      capacity_ = std::max<size_t>(need, 256);
      heap_.reset(new std::byte[capacity_]);
    }
    at = heap_.get();
  }
  op_ = op;
  op_.attr = nullptr;
  op_.who = nullptr;
  // Store values that need alignment first, then bytes.
  auto put = [&](const auto& value) {
    auto* copy = new (at) std::remove_cvref_t<decltype(value)>(value);
    at += sizeof(value);
    return copy;
  };
  if (op.set) op_.set = put(*op.set);
  if (complete && op.attr) op_.attr = put(*op.attr);
  ThreadInfo* who = complete && op.who ? put(*op.who) : nullptr;
  DirEntry* entries = reinterpret_cast<DirEntry*>(at);
  for (const DirEntry& e : op.entries) put(e);
  if (!op.entries.empty()) op_.entries = {entries, op.entries.size()};
  BlockPrint* blocks = reinterpret_cast<BlockPrint*>(at);
  for (const BlockPrint& b : op.blocks) put(b);
  if (!op.blocks.empty()) op_.blocks = {blocks, op.blocks.size()};
  auto text = [&](std::string_view s) -> std::string_view {
    if (s.empty()) return {};
    memcpy(at, s.data(), s.size());
    std::string_view copy(reinterpret_cast<char*>(at), s.size());
    at += s.size();
    return copy;
  };
  op_.name = text(op.name);
  op_.name2 = text(op.name2);
  op_.data = text(op.data);
  for (size_t i = 0; i < op.entries.size(); ++i) entries[i].name = text(op.entries[i].name);
  if (who) {
    who->command = text(who->command);
    op_.who = who;
  }
  [[maybe_unused]] const std::byte* begin = need > kInline ? heap_.get() : inline_.data();
  FSR_CHECK(at == begin + need, std::to_string(at - begin) + " bytes were copied, not " + std::to_string(need));
}

}  // namespace fsr
