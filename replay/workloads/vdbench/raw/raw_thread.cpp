// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/raw/raw_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "util/random.hpp"
#include "workloads/vdbench/files/tree_thread.hpp"

namespace fsr::vdbench {

Pattern::Pattern(uint64_t largest) {
  bytes_ = PageBuffer((largest + kPage - 1) / kPage * kPage + kPages * kPage);
  Random random(1);
  for (uint64_t at = 0; at < bytes_.size(); at += 8) {
    const uint64_t word = random.next();
    memcpy(bytes_.data() + at, &word, sizeof word);
  }
}

std::string_view Pattern::get(uint64_t offset, uint64_t length) const {
  return {bytes_.data() + offset / kPage % kPages * kPage, size_t(length)};
}

RawContext::RawContext(const RawWork& w, unsigned n, const OpenStorage& s, Pace& p, ErrorLog& e, ValidatedRun& v, uint64_t seed)
    : work(w),
      number(n),
      storage(s),
      areas(w, *s.settings, s.size, s.device),
      cursors(std::max(1u, w.workload.streams)),
      pace(p),
      errors(e),
      validation(v) {
  if (w.workload.seek != Seek::sequential_elsewhere) return;
  Random random(seed, 7 + n);
  const uint64_t length = w.workload.transfers.largest();
  for (auto& next : cursors.next) next = random.below(areas.misses.width() / length) * length;
}

RawThread::RawThread(RawContext& context, const Pattern& pattern, const Validation& validation, unsigned thread, uint64_t seed)
    : context_(context),
      chooser_(context.work, *context.storage.settings, context.areas, context.cursors, thread, seed),
      pattern_(pattern) {
  if (context.storage.validated)
    validator_ = std::make_unique<Validator>(*context.storage.validated, validation, context.validation, context.errors,
                                             context.work.workload.transfers.largest());
  if (context.content) writer_.emplace(seed * 100'000 + thread);
  ++context_.threads;
}

void RawThread::failed(const OpenStorage& storage, const Chooser::Next& what, int error) {
  context_.errors.add(fmt::format("sd={} lun={} wd={} {} lba={} ({:#x}) size={}: {}", storage.settings->name,
                                  storage.settings->lun, context_.work.workload.name, what.reads ? "read" : "write", what.offset,
                                  what.offset, what.length, strerror(error)),
                      {storage.settings->lun, what.offset, what.length, error});
}

const OpenStorage& RawThread::locate(Chooser::Next& next) const {
  const std::vector<OpenStorage::Part>& parts = context_.storage.parts;
  if (parts.empty()) return context_.storage;
  const auto after = std::upper_bound(parts.begin(), parts.end(), next.offset,
                                      [](uint64_t offset, const OpenStorage::Part& part) { return offset < part.begin; });
  const OpenStorage::Part& part = *std::prev(after);
  next.length = std::min(next.length, part.begin + part.length - next.offset);
  next.offset = next.offset - part.begin + part.from;
  return *part.storage;
}

SimTask RawThread::run(SimContext& sim) {
  Op op{.kind = OpKind::read};
  unsigned target_index = context_.storage.target_index;
  const Row reads = row_of(context_.number, Operation::read), writes = row_of(context_.number, Operation::write);
  while (!sim.ended()) {
    const Pace::StartSlot turn = context_.pace.take(context_.number, sim.now() - sim.started());
    const int64_t at = sim.started() + turn.at;
    if (turn.planned || !turn.taken) co_await sim.until(at);
    if (sim.ended()) break;
    if (!turn.taken) continue;
    std::optional<Chooser::Next> next = chooser_.next();
    if (!next) break;
    const uint64_t offset = next->offset;
    const OpenStorage& storage = locate(*next);
    if (storage.removed->load(std::memory_order_relaxed)) break;
    if (storage.target_index != target_index) co_await sim.move_to(target_index = storage.target_index);
    op.object = storage.object;
    op.handle = storage.handle;
    op.open_flags = storage.device ? context_.work.workload.flags.flags : 0;
    op.kind = next->reads ? OpKind::read : OpKind::write;
    op.offset = next->offset;
    op.length = op.result = next->length;  // raw: transfers as much as the operation's result says
    if (validator_) {
      const int error = co_await validator_->perform(sim, op, next->reads ? reads : writes, turn.planned ? at : 0);
      if (error > 0) failed(storage, *next, error);
      continue;
    }
    PerformOptions how{.due = turn.planned ? at : 0};
    if (!next->reads)
      how.payload = writer_ ? writer_->get(*context_.content, offset, next->length) : pattern_.get(next->offset, next->length);
    const Outcome& outcome = co_await sim.perform(op, next->reads ? reads : writes, how);
    if (outcome.error || outcome.result != next->length) failed(storage, *next, outcome.error ? outcome.error : EIO);
  }
  if (--context_.threads == 0) context_.pace.leave(context_.number);
}

}  // namespace fsr::vdbench
