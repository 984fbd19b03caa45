// SPDX-License-Identifier: Apache-2.0
#include "engine/verify.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "plan/print_data.hpp"

namespace fsr {

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

void Verifier::Names::add(uint64_t entries_named, std::span<const DirEntry> entries) {
  count += entries_named;
  complete &= entries_named == entries.size();
  for (const DirEntry& e : entries) {
    if (e.name == "." || e.name == "..")
      --count;
    else
      sum += XXH3_64bits(e.name.data(), e.name.size());
  }
}

bool Verifier::Names::operator==(const Names& other) const {
  return count == other.count && (!complete || !other.complete || sum == other.sum);
}

// Servers split listings differently, so listings are compared when the capture has the end of the listing.
bool Verifier::same_listing(const Op& op, const Outcome& got, uint64_t changes) {
  Listing once;
  if (op.handle && op.offset == 0) listings_.erase(op.handle);
  Listing& listing = op.handle ? listings_[op.handle] : once;
  listing.expected.add(op.result, op.entries);
  listing.got.add(got.result, got.entries);
  listing_ = listing;
  if (op.handle && op.result != 0) return true;
  listings_.erase(op.handle);
  if (listing_.expected == listing_.got) return true;
  const uint64_t most = std::max(listing_.expected.count, listing_.got.count);
  const uint64_t least = std::min(listing_.expected.count, listing_.got.count);
  if (changes == 0 || most - least > changes) return false;
  ++changed_listings_;
  return true;
}

// True: the recorded lock request waited in vain, so it was sent without waiting (planner.cpp). Not being granted is the same
// outcome.
static bool wait_in_vain(const Op& op, const Outcome& got) {
  return (op.kind == OpKind::setlk || op.kind == OpKind::flock) && (op.error == EINTR || op.error == EDEADLK) &&
         got.error == EAGAIN;
}

bool Verifier::same_blocks(const Op& op, const Outcome& got) {
  const bool kept = got.data.size() == op.result;  // false: the target keeps no data
  bool same = true;
  for_each_block(op.blocks, op.offset, op.result, [&](const BlockPrint& print, uint64_t from, size_t bytes) {
    const BlockMatch match = kept ? compare_block(print, got.data.substr(from, bytes)) : BlockMatch::unknown;
    if (match == BlockMatch::unknown) {
      ++content_.unknown;
      return;
    }
    same &= match == BlockMatch::same;
    ++content_.blocks;
    content_.bytes += bytes;
  });
  return same;
}

bool Verifier::same_content(const Op& op, const Outcome& got) {
  if (!compare_data_) return true;
  if (!op.blocks.empty()) return same_blocks(op, got);
  if (!op.has(kOpData)) return true;
  if (op.kind == OpKind::read && !op.data.empty()) {
    content_.bytes += op.data.size();
    content_.blocks += (op.offset % kPrintBlock + op.data.size() + kPrintBlock - 1) / kPrintBlock;
  }
  return op.data == got.data;
}

bool Verifier::same(const Op& op, const Outcome& got, uint64_t listing_changes) {
  if (op.error != got.error) return wait_in_vain(op, got);
  if (op.error) return true;
  switch (op.kind) {
    case OpKind::readdir:
    case OpKind::readdirplus:
      return same_listing(op, got, listing_changes);
    case OpKind::readlink:
      return op.data.empty() || op.data == got.data;
    case OpKind::read:
    case OpKind::getxattr:
      return op.result == got.result && same_content(op, got);
    default:
      return !result_compared(op.kind) || op.result == got.result;
  }
}

// True: the input of an importer does not show what was listed.
static bool unknown_listing(const Op& op) {
  const bool lists = op.kind == OpKind::readdir || op.kind == OpKind::readdirplus;
  return lists && op.has(kOpInferred) && op.error == 0 && op.result == 0;
}

Match Verifier::check(const Op& op, const Outcome& got, bool other_user, int64_t issued, uint64_t listing_changes) {
  if (op.kind == OpKind::releasedir) listings_.erase(op.handle);
  if (op.has(kOpUnfinished) || unknown_listing(op)) return Match::uncompared;
  if (same(op, got, listing_changes)) {
    if (knock_on_) knock_on_->agreed(op);
    return Match::matched;
  }
  if (knock_on_ && knock_on_->follows(op, got.error)) return Match::followed;
  if (knock_on_) knock_on_->differed(op, got.error);
  ++total_;
  note(op, got, issued);
  auto denied = [](int error) { return error == EACCES || error == EPERM; };
  return other_user && denied(op.error) != denied(got.error) ? Match::permission : Match::differed;
}

static std::string error_text(int error) {
  const char* name = strerrorname_np(error);
  return name ? name : std::to_string(error);
}

static std::string text(const Op& op, int error, uint64_t result) {
  if (error) return error_text(error);
  if (result_compared(op.kind)) return std::to_string(result) + (op.kind == OpKind::lseek ? " (offset)" : " bytes");
  return "ok";
}

// Returns how a success differs from the recorded one, without numbers, by which differences are grouped.
std::string Verifier::group_of(const Op& op, const Outcome& got) const {
  auto compared = [](uint64_t was, uint64_t is, const char* what) { return (is < was ? "fewer " : "more ") + std::string(what); };
  const bool lists = op.kind == OpKind::readdir || op.kind == OpKind::readdirplus;
  if (lists && listing_.got.count != listing_.expected.count)
    return compared(listing_.expected.count, listing_.got.count, "entries");
  if (lists) return "other names";
  if (op.kind == OpKind::readlink) return "other text";
  if (op.result == got.result) return "other content";
  return op.kind == OpKind::lseek ? "other offset" : compared(op.result, got.result, "bytes");
}

// Keeps the mismatch if it is one of the first by number; operations may come in another order.
void Verifier::note(const Op& op, const Outcome& got, int64_t issued) {
  const std::string name(op.name.empty() ? op.name2 : op.name);
  differences_.add({.kind = op.kind,
                    .expected = op.error ? error_text(op.error) : "ok",
                    .got = got.error  ? error_text(got.error)
                           : op.error ? "ok"
                                      : group_of(op, got),
                    .count = 1,
                    .first = issued,
                    .last = issued,
                    .first_seq = op.seq,
                    .example = name,
                    .object = op.object,
                    .parent = op.parent});
  if (mismatches_.size() >= keep_) {
    if (keep_ == 0 || op.seq >= mismatches_.front().seq) return;
    std::pop_heap(mismatches_.begin(), mismatches_.end(), Mismatch::earlier);
    mismatches_.pop_back();
  }
  Mismatch m{.seq = op.seq, .kind = op.kind, .name = name, .object = op.object, .parent = op.parent, .thread = op.thread};
  m.issued = issued;
  m.expected = text(op, op.error, op.result);
  m.got = text(op, got.error, got.result);
  if (m.expected == m.got) {
    if (op.kind == OpKind::readdir || op.kind == OpKind::readdirplus) {
      m.expected = std::to_string(listing_.expected.count) + " entries";
      m.got = std::to_string(listing_.got.count) + " entries";
      if (m.expected == m.got) m.got += " with other names";
    } else {
      m.expected = op.kind == OpKind::readlink ? std::string(op.data) : "the captured content";
      m.got = op.kind == OpKind::readlink ? std::string(got.data) : "other content";
    }
  }
  mismatches_.push_back(std::move(m));
  std::push_heap(mismatches_.begin(), mismatches_.end(), Mismatch::earlier);
}

}  // namespace fsr
