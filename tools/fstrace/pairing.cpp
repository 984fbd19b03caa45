// SPDX-License-Identifier: Apache-2.0
#include "pairing.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>

#include "trace/model.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

constexpr size_t kMostWaiting = 1 << 22;
constexpr size_t kMostExamples = 5;

static uint64_t hash(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

// Hash of the operation's arguments, without its outcome.
uint64_t Pairing::key(const Op& op) const {
  const uint16_t traits = kind_traits(op.kind);
  const bool by_name = op.parent != kNoObject;
  const uint64_t parts[] = {uint64_t(op.kind),
                            op.has(kOpKernel) ? 0 : op.thread,
                            by_name ? kNoObject : op.object,
                            op.parent,
                            op.parent2,
                            traits & kMakesHandle ? 0 : op.handle,
                            op.handle2,
                            op.has(kOpAppend) ? 0 : op.offset,
                            op.offset2,
                            op.length,
                            op.mode,
                            op.flags,
                            op.open_flags,
                            names_ ? hash(op.name) : 0,
                            names_ ? hash(op.name2) : 0};
  return XXH3_64bits(parts, sizeof parts);
}

static bool records_length(OpKind kind) {
  return kind == OpKind::read || kind == OpKind::write || kind == OpKind::copy_file_range || kind == OpKind::lseek ||
         kind == OpKind::getxattr || kind == OpKind::listxattr;
}

static std::string text(OpKind kind, int32_t error, uint64_t result) {
  if (error < 0) return "unfinished";
  if (const char* name = error ? strerrorname_np(error) : nullptr) return name;
  if (error) return std::to_string(error);
  return records_length(kind) ? format_count(result) : "ok";
}

void Pairing::add(const Op& op, Side side) {
  Outcome outcome{.error = op.has(kOpUnfinished) ? -1 : op.error};
  if (outcome.error == 0 && records_length(op.kind)) outcome.result = op.result;
  pair(key(op), op, side, outcome, false);
  list(op, side);
}

void Pairing::pair(uint64_t key, const Op& op, Side side, Outcome outcome, bool listing) {
  Kind& kind = kinds_[size_t(op.kind)];
  auto found = waiting_.find(key);
  if (found == waiting_.end() || found->second.front().side == side) {
    if (waits_ >= kMostWaiting) {
      if (!listing) ++kind.alone[side][outcome.error];
      return;
    }
    ++waits_;
    // A listing stands beside its operations, and has no kind of its own.
    waiting_[key].push_back({side, listing ? OpKind::null : op.kind, outcome, op.seq});
    return;
  }
  const Waiting other = found->second.front();
  found->second.pop_front();
  if (found->second.empty()) waiting_.erase(found);
  --waits_;
  if (!listing) ++kind.pairs;
  if (other.outcome == outcome) return;
  ++kinds_[size_t(listing ? OpKind::readdir : op.kind)].differing;
  const Outcome &one = side == second ? other.outcome : outcome, &two = side == second ? outcome : other.outcome;
  const uint64_t seq = side == second ? other.seq : op.seq;
  if (listing)
    differs(op, seq, "a listing", "a listing of other names");
  else
    differs(op, seq, text(op.kind, one.error, one.result), text(op.kind, two.error, two.result));
}

void Pairing::differs(const Op& op, uint64_t seq, const std::string& one, const std::string& two) {
  if (examples_.size() >= kMostExamples) return;
  const std::string name(op.name.empty() ? op.name2 : op.name);
  examples_.push_back(
      fmt::format("operation {}, {}{}: {}, then {}", seq, op_name(op.kind), name.empty() ? "" : " " + name, one, two));
}

void Pairing::list(const Op& op, Side side) {
  const bool reads = op.kind == OpKind::readdir || op.kind == OpKind::readdirplus;
  if ((!reads && op.kind != OpKind::releasedir) || !op.handle || op.error || op.has(kOpUnfinished)) return;
  auto& listings = listings_[side];
  if (!reads) {
    if (auto found = listings.find(op.handle); found != listings.end()) {
      settle(op, side, found->second);
      listings.erase(found);
    }
    return;
  }
  Listing& l = listings[op.handle];
  if (op.offset == 0) settle(op, side, l);
  l.open = true;
  l.known &= op.result == op.entries.size();
  l.names += op.result;
  for (const DirEntry& e : op.entries)
    if (e.name == "." || e.name == "..")  // which some servers list, and others don't
      --l.names;
    else if (names_)
      l.sum += hash(e.name);
}

// PartialMessage again, or over.
void Pairing::settle(const Op& op, Side side, Listing& l) {
  if (!l.open) return;
  const uint64_t parts[] = {~uint64_t(0), op.handle, l.number};
  if (l.known) pair(XXH3_64bits(parts, sizeof parts), op, side, {.error = int32_t(l.names), .result = l.sum}, true);
  l = {.number = l.number + 1};
}

void Pairing::finish() {
  for (const auto& [key, list] : waiting_)
    for (const Waiting& w : list)
      if (w.kind != OpKind::null) ++kinds_[size_t(w.kind)].alone[w.side][w.outcome.error];
  waiting_.clear();
}

uint64_t Pairing::pairs() const {
  uint64_t n = 0;
  for (const Kind& k : kinds_) n += k.pairs;
  return n;
}

uint64_t Pairing::differing() const {
  uint64_t n = 0;
  for (const Kind& k : kinds_) n += k.differing;
  return n;
}

uint64_t Pairing::alone(Side side) const {
  uint64_t n = 0;
  for (const Kind& k : kinds_)
    for (const auto& [error, count] : k.alone[side]) n += count;
  return n;
}

}  // namespace fsr::fstrace
