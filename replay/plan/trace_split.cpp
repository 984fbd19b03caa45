// SPDX-License-Identifier: Apache-2.0
#include "plan/trace_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "plan/image_tree.hpp"
#include "plan/linearizer.hpp"
#include "trace/live_state.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

constexpr uint32_t kUnfinished = 65536;  // earlier operations that an operation may wait for; a run uses the same number
constexpr double kBytesOfOperation = 64.0 * 1024;  // bytes that count as one operation of load

uint64_t pair_key(uint32_t a, uint32_t b) { return uint64_t(std::min(a, b)) << 32 | std::max(a, b); }

}  // namespace

bool makes_object(const Op& op) {
  return op.kind == OpKind::mkdir || op.kind == OpKind::mknod || op.kind == OpKind::symlink || op.kind == OpKind::tmpfile ||
         (op.kind == OpKind::create && op.has(kOpCreated));
}

unsigned TraceSplit::rank_of(ThreadId thread) const {
  const auto found = ranks_.find(thread);
  return found == ranks_.end() ? 0 : found->second;
}

unsigned TraceSplit::rank_of_open(HandleId handle) const {
  const auto found = opens_.find(handle);
  return found == opens_.end() ? 0 : rank_of(found->second);
}

SplitSurvey::SplitSurvey(size_t memory) : memory_(memory), recent_(kUnfinished), dependencies_(kUnfinished, false, known_) {}

uint32_t SplitSurvey::index_of(ThreadId id) {
  const auto [found, news] = by_id_.try_emplace(id, uint32_t(threads_.size()));
  if (news) threads_.push_back({.id = id, .group = found->second, .command = {}});
  return found->second;
}

uint32_t SplitSurvey::group_of(uint32_t thread) {
  while (threads_[thread].group != thread) thread = threads_[thread].group = threads_[threads_[thread].group].group;
  return thread;
}

void SplitSurvey::unite(uint32_t a, uint32_t b) {
  a = group_of(a), b = group_of(b);
  threads_[std::max(a, b)].group = std::min(a, b);
}

void SplitSurvey::begin(const LiveState& before) {
  before.each_open([&](const LiveOpen& live) { use(live.handle, live.object, index_of(live.thread)); });
  before.each_lock([&](const LiveLock& lock) {
    if (const auto open = open_.find(lock.handle); open != open_.end()) {
      const auto [locker, first] = lockers_.try_emplace(lock.object, open->second.thread);
      if (!first) unite(locker->second, open->second.thread);
    }
  });
}

void SplitSurvey::open(HandleId handle, ObjectId object, uint32_t thread) {
  if (!handle) return;
  open_[handle] = {thread, object};
  if (object) holders_[object].push_back(thread);
}

void SplitSurvey::use(HandleId handle, ObjectId object, uint32_t thread) {
  if (!handle) return;
  if (const auto found = open_.find(handle); found != open_.end()) return unite(found->second.thread, thread);
  before_[handle] = {thread, object};
  open(handle, object, thread);
}

void SplitSurvey::close(HandleId handle) {
  const auto found = open_.find(handle);
  if (found == open_.end()) return;
  if (const auto holders = holders_.find(found->second.object); holders != holders_.end()) {
    std::vector<uint32_t>& threads = holders->second;
    if (const auto one = std::find(threads.begin(), threads.end(), found->second.thread); one != threads.end())
      threads.erase(one);
    if (threads.empty()) holders_.erase(holders);
  }
  open_.erase(found);
}

// Keeps threads together that have `object` open when `thread` removes its name. A client keeps a file that is open if it removes
// the name itself; if another client does, the file may be lost.
void SplitSurvey::remove(ObjectId object, uint32_t thread) {
  if (const auto holders = holders_.find(object); holders != holders_.end())
    for (uint32_t holder : holders->second) unite(holder, thread);
}

void SplitSurvey::add(const Op& op, const Linearizer& order) {
  const uint32_t thread = index_of(op.thread);
  Thread& t = threads_[thread];
  ++t.operations;
  t.load += 1 + double(op.kind == OpKind::read || op.kind == OpKind::write ? op.result : 0) / kBytesOfOperation;
  if (t.command.empty() && op.who) t.command = op.who->command;

  const bool ok = op.error == 0 && !op.has(kOpUnfinished);
  switch (op.kind) {
    case OpKind::open:
    case OpKind::opendir:
    case OpKind::create:
    case OpKind::tmpfile:
      if (ok) open(op.handle, op.object, thread);
      break;
    case OpKind::unlink:
      if (ok) remove(op.object, thread);
      break;
    case OpKind::rename:
      if (ok) remove(op.object2, thread);
      break;
    case OpKind::getlk:
    case OpKind::setlk:
    case OpKind::flock: {
      const auto [locker, first] = lockers_.try_emplace(op.object, thread);
      if (!first) unite(locker->second, thread);
      [[fallthrough]];
    }
    default:
      use(op.handle, op.object, thread);
      use(op.handle2, op.object2, thread);
  }
  if (ok && (op.kind == OpKind::release || op.kind == OpKind::releasedir)) close(op.handle);

  final_.add(op, thread);
  if (entered_ % kUnfinished == 0) check_memory();
  // Objects that no operation made belong to the image, which each rank knows from the start.
  if (ok && op.object && !makes_object(op)) known_.insert(op.object);
  const auto slot = uint32_t(entered_++ % kUnfinished);
  if (entered_ > kUnfinished) dependencies_.finished(slot);
  dependencies_.enter(op, slot, order.held_since(), order.holds(op.thread), waits_);
  recent_[slot] = {thread, op.kind};
  all_waits_ += waits_.size();
  for (const Wait& wait : waits_)
    if (recent_[wait.slot].thread != thread) wait_for(op, thread, recent_[wait.slot]);
}

void SplitSurvey::wait_for(const Op& op, uint32_t thread, const Recent& earlier) {
  Pair& pair = pairs_[pair_key(thread, earlier.thread)];
  if (pair.waits++ > 0) return;
  pair.seq = op.seq;
  pair.later = op.kind;
  pair.earlier = earlier.kind;
  pair.waiting = thread;
  pair.name = op.name.empty() ? op.name2 : op.name;
  check_memory();
}

void SplitSurvey::check_memory() const {
  constexpr size_t kTaken = 64;  // bytes of the index entry of each, about
  if (pairs_.size() * (sizeof(Pair) + kTaken) + threads_.size() * (sizeof(Thread) + kTaken) +
          (open_.size() + before_.size() + holders_.size() + lockers_.size()) * kTaken + final_.memory() >
      memory_)
    throw std::length_error(fmt::format(
        "what {} threads share ({} ways to depend on each other, {} of changes whose order the tree shows) requires more than {} "
        "of memory; use one rank, or --clones",
        format_count(threads_.size()), format_count(pairs_.size()), format_size(final_.memory()), format_size(memory_)));
}

std::string SplitSurvey::text(const Pair& pair, uint32_t earlier) const {
  auto of = [&](uint32_t index) {
    const Thread& thread = threads_[index];
    return fmt::format("thread {}{}", thread.id, thread.command.empty() ? "" : " (" + escape_text(thread.command) + ")");
  };
  return fmt::format("{}{} of {} waits for {} of {}", op_name(pair.later), pair.name.empty() ? "" : " " + escape_text(pair.name),
                     of(pair.waiting), op_name(pair.earlier), of(earlier));
}

TraceSplit SplitSurvey::deal(unsigned ranks, const ImageTree& image) {
  // All threads that have a file without a name open must be on one rank, because each such rank would remove it.
  std::unordered_map<ObjectId, uint32_t> nameless;
  for (const ImageName& name : image.names)
    if (name.placed) nameless.emplace(image.objects[name.object].id, UINT32_MAX);
  for (const auto& [handle, opened] : before_)
    if (const auto found = nameless.find(opened.object); found != nameless.end()) {
      if (found->second != UINT32_MAX) unite(found->second, opened.thread);
      found->second = opened.thread;
    }

  TraceSplit split;
  split.shares.resize(ranks);
  double total = 0;
  for (const Thread& thread : threads_) total += thread.load;
  const std::vector<unsigned> rank_of_thread = share_out(ranks);
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    TraceSplit::Share& share = split.shares[rank_of_thread[i]];
    share.load += threads_[i].load;
    share.operations += threads_[i].operations;
    share.streams += threads_[i].operations > 0;
    split.ranks_[threads_[i].id] = rank_of_thread[i];
  }
  for (TraceSplit::Share& share : split.shares) share.load /= total;
  for (const auto& [handle, opened] : before_) split.opens_[handle] = threads_[opened.thread].id;

  split.waits = all_waits_;
  std::vector<std::pair<uint64_t, const Pair*>> cut;
  for (const auto& [key, pair] : pairs_) {
    const uint32_t a = uint32_t(key >> 32), b = uint32_t(key);
    if (split.rank_of(threads_[a].id) == split.rank_of(threads_[b].id)) continue;
    split.cut += pair.waits;
    cut.emplace_back(key, &pair);
  }
  std::ranges::sort(cut, {}, [](const auto& entry) { return std::pair(entry.second->seq, entry.first); });
  for (size_t i = 0; i < std::min(cut.size(), TraceSplit::kNamed); ++i) {
    const auto& [key, pair] = cut[i];
    const uint32_t a = uint32_t(key >> 32), b = uint32_t(key);
    split.first_cut.push_back(text(*pair, a == pair->waiting ? b : a));
  }
  for (const FinalOrder::Pair& pair : final_.pairs()) {
    if (rank_of_thread[pair.earlier_thread] == rank_of_thread[pair.later_thread]) continue;
    split.ordered.push_back(pair);
    split.noted.insert(split.noted.end(), {pair.earlier, pair.later});
  }
  std::ranges::sort(split.noted);
  split.noted.erase(std::unique(split.noted.begin(), split.noted.end()), split.noted.end());
  return split;
}

}  // namespace fsr
