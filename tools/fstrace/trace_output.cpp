// SPDX-License-Identifier: Apache-2.0
#include "trace_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "trace/reader.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

constexpr int64_t kLong = 1'000'000'000;    // ns: what lasts longer is written as start and end
constexpr int64_t kBlock = 10'000'000'000;  // ns that one block may span
constexpr int kArchiveLevel = 19;

void OutputOptions::add(Command& command) {
  command.add("-o,--output", file, "write this trace").required();
  command.flag("--force", force, "replace an existing trace");
  const Option smallest = command.flag("--archive", archive, "compress as much as possible: slow, in large blocks");
  command.add("--level", level, "compress with this zstd level (default 3)").stands_for("N").within(1, 22).excludes(smallest);
}

WriterOptions OutputOptions::writer() const {
  WriterOptions w;
  w.block_ns = kBlock;
  if (level) w.level = level;
  if (archive) {
    w.level = kArchiveLevel;
    w.block_ops = 65536;
    w.block_bytes = 16 << 20;
    w.block_ns = 60 * kBlock;
  }
  return w;
}

TraceOutput::TraceOutput(const OutputOptions& options, const TraceHeader& header, LiveState initial)
    : file_(options.file, options.force, Readers::owner),
      writer_(std::make_unique<TraceWriter>(file_.take_fd(), header, options.writer(), std::move(initial))) {}

void TraceOutput::end_until(int64_t time) {
  while (!under_way_.empty() && under_way_.top().end() <= time) {
    const LongOp& first = under_way_.top();
    writer_->add_end(first.seq, first.batch->ops[0]);
    under_way_.pop();
  }
}

void TraceOutput::add(const Op& op) {
  end_until(op.start);
  writer_->tick(op.start);
  end_ = std::max(end_, op.end());
  if (op.has(kOpUnfinished)) {
    writer_->add_start(begun(op));
  } else if (op.duration > kLong) {
    LongOp lasting{.seq = writer_->add_start(begun(op)), .batch = std::make_unique<OpBatch>()};
    lasting.batch->ops.push_back(copy_op(op, lasting.batch->arena));
    under_way_.push(std::move(lasting));
  } else {
    writer_->add(op);
  }
}

void TraceOutput::finish(TraceClosing closing) {
  end_until(INT64_MAX);
  closing.end = std::max(closing.end, end_);
  writer_->finish(std::move(closing));
  file_.commit();
}

TraceHeader edited(const TraceHeader& original, const std::string& what) {
  TraceHeader h = original;
  h.version = kTraceVersion;
  h.piece = 1;
  h.id = random_trace_id();
  h.monotonic = 0;  // times may be shifted
  h.edits.push_back(what + (original.id.empty() ? "" : " of trace " + original.id));
  return h;
}

namespace {

// Spans of `was` that touch the range that was taken, in times of the copy. Returns how many operations they have.
uint64_t copy_spans(const TraceClosing& was, const TakenTime& taken, std::vector<DroppedSpan>& out) {
  uint64_t operations = 0;
  for (DroppedSpan d : was.dropped_spans) {
    if (d.to < taken.from || d.from >= taken.to) continue;
    operations += d.operations;
    d.from = std::max(d.from, taken.from);
    d.to = std::min(d.to, taken.to);
    if (__builtin_add_overflow(d.from, taken.shift, &d.from) || __builtin_add_overflow(d.to, taken.shift, &d.to)) continue;
    out.push_back(d);
  }
  return operations;
}

// "12 operations were not recorded, between 1.00 s and 2.00 s"; empty: all were.
std::string not_recorded(const TraceClosing& closing) {
  if (!closing.dropped) return {};
  std::string out =
      format_count(closing.dropped) + (closing.dropped == 1 ? " operation was" : " operations were") + " not recorded";
  if (closing.dropped_spans.empty()) return out;
  int64_t to = 0;  // spans of a merged trace overlap
  for (const DroppedSpan& span : closing.dropped_spans) to = std::max(to, span.to);
  return out + fmt::format(", between {} and {}", format_duration(closing.dropped_spans.front().from), format_duration(to));
}

}  // namespace

TraceClosing closing_after(const TraceReader& reader, const std::string& subcommand, const TakenTime& taken) {
  TraceClosing out;
  out.clean = true;
  out.reason = "fstrace " + subcommand;
  const TraceClosing* was = reader.closing();
  if (!was || !was->clean || !reader.damage().empty()) {
    out.clean = false;
    out.reason += "; original: " + (!was                       ? std::string("truncated, the closing statement is missing")
                                    : !reader.damage().empty() ? "damaged: " + reader.damage().front().what
                                                               : "not complete: " + was->reason);
  }
  if (was) {
    uint64_t timed = 0;
    for (const DroppedSpan& d : was->dropped_spans) timed += d.operations;
    out.dropped = was->dropped - std::min(was->dropped, timed) + copy_spans(*was, taken, out.dropped_spans);
    out.filtered = was->filtered;
    out.waited = was->waited;
    out.ring_time = was->ring_time;
    out.mounts_below = was->mounts_below;
    out.not_seen = was->not_seen;
  }
  return out;
}

void report_lacks(const std::string& file, const TraceClosing* closing) {
  if (!closing) return;
  std::string lacks = not_recorded(*closing);
  if (!closing->clean)
    lacks += (lacks.empty() ? "" : "; ") + ("the recorder did not end cleanly: " + escape_text(closing->reason));
  if (!lacks.empty()) fmt::print(stderr, "fstrace: {}: {}\n", file, lacks);
}

int report_damage(const std::string& file, const TraceReader& reader) {
  for (const TraceDamage& d : reader.damage()) fmt::print(stderr, "fstrace: {}: {}\n", file, d.what);
  report_lacks(file, reader.closing());
  return reader.damage().empty() ? 0 : 1;
}

void report_output(const OutputOptions& options, const TraceOutput& output, uint64_t seen) {
  const bool all = output.operations() == seen;
  fmt::print("{}: {}{} operations, {}\n", escape_text(options.file), format_count(output.operations()),
             all ? "" : " of " + format_count(seen), format_size(output.bytes()));
}

}  // namespace fsr::fstrace
