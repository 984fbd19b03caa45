// SPDX-License-Identifier: Apache-2.0
// fstrace stat: counts, bytes, latencies, sizes and sequentiality, by group and over time, in one pass.
#include <algorithm>
#include <cstdio>
#include <map>

#include "open_op.hpp"
#include "selection.hpp"
#include "stat_output.hpp"
#include "stream.hpp"
#include "subcommand.hpp"
#include "trace_output.hpp"
#include "util/status_line.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

struct StatOptions {
  std::vector<std::string> files;
  std::string interval, sort = "operations";
  std::vector<std::string> by{"op"};
  size_t top = 0;
  bool json = false, csv = false;
  Selection selection;
};

uint64_t rank(const Measure& m, const std::string& sort) {
  if (sort == "bytes") return m.read_bytes + m.written_bytes;
  return sort == "time" ? uint64_t(m.latency.sum()) : m.operations;
}

class Stat {
 public:
  Stat(const StatOptions& options, const StatShape& shape)
      : options_(options),
        shape_(shape),
        groups_(shape.by),
        output_(options.json  ? stat_json(shape)
                : options.csv ? stat_csv(shape)
                              : stat_text(shape)),
        names_(options.selection.by_path() || std::ranges::find(shape.by, Dimension::file) != shape.by.end()) {}

  void run(TraceReader& reader) {
    const Selection& selection = options_.selection;
    seek(reader, selection, names_ ? &paths_ : nullptr);
    covered_ = {reader.begin_time(), reader.end_time()};
    StatusLine line(false);
    OpBatch batch;
    while (reader.next(batch) && add(batch)) line.bar("stat", reader.position_bytes(), reader.file_bytes());
    line.clear();
    finish();
  }

  // Prints the table of an interval as soon as a later operation comes. Operations without an end are counted when it comes, at
  // the latest with the table of their interval.
  void run(StreamReader& reader) {
    holds_ = true;
    reader.on_late_end([this](const Op& end) { take_end(end); });
    SelectedStream selected(reader, options_.selection, names_ ? &paths_ : nullptr);
    OpBatch batch;
    for (bool first = true; selected.next(batch); first = false) {
      if (first && reader.header().piece > 1) covered_.from = batch.ops.front().start;
      add(batch);
      fflush(stdout);
      if (ferror(stdout)) return;
    }
    if (selected.passed_end()) covered_.to = std::max(covered_.to, options_.selection.to());
    finish();
  }

  // Number of operations whose end came after the table of their interval, which has them as unfinished.
  uint64_t ended_after_table() const { return ended_after_table_; }

 private:
  struct Held : OpenOp {
    bool selected = false;  // without its end
  };

  // False: an operation is beyond the selection.
  bool add(const OpBatch& batch) {
    groups_.begin_batch();
    for (const Op& op : batch.ops) {
      if (op.start >= options_.selection.to()) return false;
      add(op);
    }
    return true;
  }

  void add(const Op& op) {
    if (names_ && op.kind != OpKind::rename) paths_.apply(op);
    const bool selected = selects(op);
    if (selected) note(op);
    if (holds_ && op.has(kOpUnfinished)) {
      Held& held = held_[op.seq];
      held.keep(op);
      held.selected = selected;
    } else if (selected) {
      groups_.add(op);
    }
    if (names_ && op.kind == OpKind::rename) paths_.apply(op);
  }

  bool selects(const Op& op) const { return options_.selection.everything() || options_.selection.matches(op, paths_); }

  // Takes the end of an operation that came without one.
  void take_end(const Op& end) {
    if (end.start < options_.selection.from() || end.start >= options_.selection.to()) return;
    if (names_) paths_.apply(end);
    const bool held = held_.erase(end.seq) != 0;
    if (!selects(end)) return;
    if (!held) {
      ++ended_after_table_;
      return;
    }
    note(end);
    groups_.begin_batch();
    groups_.add(end);
  }

  // Counts operations that have not ended and began before `time`.
  void release(int64_t time) {
    groups_.begin_batch();
    for (auto held = held_.begin(); held != held_.end() && held->second.op.start < time; held = held_.erase(held))
      if (held->second.selected) groups_.add(held->second.op);
  }

  // Takes notice of the time of an operation that is counted.
  void note(const Op& op) {
    covered_.add(op);
    if (shape_.interval && op.start >= interval_end_) {
      // The interval that the operation starts in, counted from the start of the trace.
      int64_t begin = op.start - op.start % shape_.interval;
      if (op.start < 0 && begin > op.start) begin -= shape_.interval;
      release(begin);
      flush();
      interval_start_ = begin;
      if (__builtin_add_overflow(begin, shape_.interval, &interval_end_)) interval_end_ = INT64_MAX;
    }
  }

  // Prints the groups so far and begins new ones.
  void flush() {
    if (groups_.groups().empty()) return;
    std::vector<const StatGroups::Group*> sorted;
    for (const StatGroups::Group& g : groups_.groups()) {
      total_.merge(g.measure);
      sorted.push_back(&g);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](auto* a, auto* b) { return rank(a->measure, options_.sort) > rank(b->measure, options_.sort); });
    const size_t shown = options_.top ? std::min(options_.top, sorted.size()) : sorted.size();
    std::vector<StatRow> rows;
    for (size_t i = 0; i < shown; ++i) rows.push_back({groups_.labels(*sorted[i], paths_), &sorted[i]->measure});
    // The first and the last interval may be outside of the trace or of the selection in part.
    StatStretch stretch{.from = begin(), .to = end()};
    if (shape_.interval)
      stretch = {interval_start_, std::max(interval_start_, stretch.from), std::min(interval_end_, stretch.to)};
    output_->table(stretch, rows, sorted.size() - shown);
    groups_.clear();
  }

  void finish() {
    release(INT64_MAX);
    flush();
    output_->end(begin(), end(), total_);
  }

  // The time that was looked at. A series whose oldest pieces are gone begins late.
  int64_t begin() const { return std::max(options_.selection.from(), covered_.from); }
  int64_t end() const { return std::max(begin(), std::min(options_.selection.to(), covered_.to)); }

  const StatOptions& options_;
  const StatShape shape_;
  StatGroups groups_;
  std::unique_ptr<StatOutput> output_;
  Paths paths_;
  const bool names_;
  bool holds_ = false;             // keeps operations without an end back
  std::map<uint64_t, Held> held_;  // by Op::seq
  uint64_t ended_after_table_ = 0;
  Coverage covered_;
  int64_t interval_start_ = INT64_MIN, interval_end_ = INT64_MIN;
  Measure total_;
};

int stat(StatOptions& options) {
  options.selection.parse();
  StatShape shape{.file = options.files[0], .by = {}, .interval = 0};
  for (const std::string& name : options.by) {
    const Dimension d = dimension_from_name(name);
    if (std::find(shape.by.begin(), shape.by.end(), d) != shape.by.end())
      throw std::runtime_error("--by " + name + ": given twice");
    shape.by.push_back(d);
  }
  if (!options.interval.empty()) {
    shape.interval = parse_duration(options.interval);
    if (shape.interval <= 0) throw std::runtime_error("--interval " + options.interval + ": expected a time above 0");
  }
  if (const auto stream = open_stream(options.files, true)) {
    Stat stat(options, shape);
    stat.run(*stream);
    fflush(stdout);
    const int status = report_stream(options.files[0], *stream);
    if (!stat.ended_after_table()) return status;
    fprintf(stderr, "fstrace: %s: %s operations ended after the table of their interval, which has them as unfinished\n",
            options.files[0].c_str(), format_count(stat.ended_after_table()).c_str());
    return 1;
  }
  auto reader = open_trace(options.files);
  Stat(options, shape).run(*reader);
  fflush(stdout);
  return report_damage(options.files[0], *reader);
}

}  // namespace

Run add_stat(Command& command) {
  auto options = std::make_shared<StatOptions>();
  add_files(command, options->files);
  command.add("--by", options->by, "group by op, process, command, thread, user, client, outcome or file (default op)")
      .separated_by_commas()
      .often({"op", "process", "command", "thread", "user", "client", "outcome", "file"});
  command.add("--interval", options->interval, "print a table for each interval of this length (1s, 5m)");
  command.add("--sort", options->sort, "sort by operations, bytes or time, largest first (default operations)")
      .one_of({"operations", "bytes", "time"});
  command.add("--top", options->top, "print at most so many groups of each table");
  const Option json = command.flag("--json", options->json, "print JSON on standard output");
  command.flag("--csv", options->csv, "print comma-separated values on standard output").excludes(json);
  options->selection.add_time_options(command);
  options->selection.add_options(command);
  return [options] { return stat(*options); };
}

}  // namespace fsr::fstrace
