// SPDX-License-Identifier: Apache-2.0
#include "engine/verify.hpp"

#include <cerrno>
#include <cstring>

#include "plan/print_data.hpp"

namespace fsr {

bool is_no_answer(int error) {
  constexpr int kErrors[] = {ETIMEDOUT, ECONNRESET, ECONNREFUSED, ECONNABORTED, ENOTCONN,
                             EPIPE,     ENETDOWN,   ENETUNREACH,  EHOSTDOWN,    EHOSTUNREACH};
  return std::find(std::begin(kErrors), std::end(kErrors), error) != std::end(kErrors);
}

bool result_compared(OpKind kind) {
  switch (kind) {
    case OpKind::read:
    case OpKind::write:
    case OpKind::copy_file_range:
    case OpKind::lseek:
    case OpKind::getxattr:
    case OpKind::listxattr:
      return true;
    default:
      return false;
  }
}

static uint64_t dots(std::span<const DirEntry> entries) {
  uint64_t n = 0;
  for (const DirEntry& e : entries) n += e.name == "." || e.name == "..";
  return n;
}

// Servers pack listings differently, so counts are compared where the capture saw the end of the listing.
bool Verifier::same_listing(const Op& op, const Outcome& got) {
  Listing one{op.result - dots(op.entries), got.result - dots(got.entries)};
  bool end = op.result == 0;
  if (!op.handle) {
    listing_ = one;
    return one.expected == one.got;
  }
  if (op.offset == 0) listings_.erase(op.handle);
  Listing& sum = listings_[op.handle];
  sum.expected += one.expected;
  sum.got += one.got;
  listing_ = sum;
  if (!end) return true;
  listings_.erase(op.handle);
  return listing_.expected == listing_.got;
}

// Such a wait was only tried (planner.cpp): that it was not granted is the same outcome.
static bool wait_in_vain(const Op& op, const Outcome& got) {
  return (op.kind == OpKind::setlk || op.kind == OpKind::flock) && op.error == EINTR && got.error == EAGAIN;
}

bool Verifier::same_blocks(const Op& op, const Outcome& got) {
  if (got.data.size() != op.result) return true;  // a target that keeps no data
  bool same = true;
  for_each_block(op.blocks, op.offset, op.result, [&](const BlockPrint& print, uint64_t from, size_t bytes) {
    switch (compare_block(print, got.data.substr(from, bytes))) {
      case BlockMatch::other:
        same = false;
        [[fallthrough]];
      case BlockMatch::same:
        ++blocks_compared_;
        break;
      case BlockMatch::unknown:
        ++blocks_unknown_;
    }
  });
  return same;
}

bool Verifier::same(const Op& op, const Outcome& got) {
  if (op.error != got.error) return wait_in_vain(op, got);
  if (op.error) return true;
  switch (op.kind) {
    case OpKind::readdir:
    case OpKind::readdirplus:
      return same_listing(op, got);
    case OpKind::readlink:
      return op.data.empty() || op.data == got.data;
    case OpKind::read:
    case OpKind::getxattr:
      if (op.result != got.result) return false;
      if (compare_data_ && !op.blocks.empty()) return same_blocks(op, got);
      return !compare_data_ || !op.has(kOpData) || op.data == got.data;
    default:
      return !result_compared(op.kind) || op.result == got.result;
  }
}

// An importer whose input does not tell what was listed says so.
static bool unknown_listing(const Op& op) {
  const bool lists = op.kind == OpKind::readdir || op.kind == OpKind::readdirplus;
  return lists && op.has(kOpInferred) && op.error == 0 && op.result == 0;
}

Match Verifier::check(const Op& op, const Outcome& got, bool other_user) {
  if (op.kind == OpKind::releasedir) listings_.erase(op.handle);
  if (op.has(kOpUnfinished) || unknown_listing(op)) return Match::uncompared;
  if (same(op, got)) return Match::matched;
  ++total_;
  if (mismatches_.size() < keep_) note(op, got);
  auto denied = [](int error) { return error == EACCES || error == EPERM; };
  return other_user && denied(op.error) != denied(got.error) ? Match::permission : Match::differed;
}

static std::string text(const Op& op, int error, uint64_t result) {
  if (error) {
    const char* name = strerrorname_np(error);
    return name ? name : std::to_string(error);
  }
  if (result_compared(op.kind)) return std::to_string(result) + (op.kind == OpKind::lseek ? " (offset)" : " bytes");
  return "ok";
}

void Verifier::note(const Op& op, const Outcome& got) {
  Mismatch m{.seq = op.seq, .kind = op.kind, .name = std::string(op.name), .object = op.object, .thread = op.thread};
  if (m.name.empty()) m.name = op.name2;
  m.expected = text(op, op.error, op.result);
  m.got = text(op, got.error, got.result);
  if (m.expected == m.got) {
    if (op.kind == OpKind::readdir || op.kind == OpKind::readdirplus) {
      m.expected = std::to_string(listing_.expected) + " entries";
      m.got = std::to_string(listing_.got) + " entries";
    } else {
      m.expected = op.kind == OpKind::readlink ? std::string(op.data) : "the captured content";
      m.got = op.kind == OpKind::readlink ? std::string(got.data) : "other content";
    }
  }
  mismatches_.push_back(std::move(m));
}

}  // namespace fsr
