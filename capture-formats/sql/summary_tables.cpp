// SPDX-License-Identifier: Apache-2.0
// The table `blocks` is made from the index. `files`, `processes`, `names` and `opens` are each summed up in one pass over the
// trace when they are queried. Memory grows with the number of their rows.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <variant>

#include "../trace/live_state.hpp"
#include "../trace/open_flags.hpp"
#include "../trace/paths.hpp"
#include "../trace/reader.hpp"
#include "../trace/series.hpp"
#include "sqlite_api.hpp"
#include "trace_tables.hpp"

namespace fsr {

namespace {

using Cell = std::variant<std::monostate, int64_t, std::string>;
using Row = std::vector<Cell>;

Cell number(uint64_t v) { return int64_t(v); }

class SummaryRows final : public TraceRows {
 public:
  using Fill = void (*)(const std::string& file, std::vector<Row>& rows);
  SummaryRows(const std::string& file, Fill fill) : file_(file), fill_(fill) {}

  void begin(int, const char*, const std::vector<sqlite3_value*>&) override {
    if (!filled_) fill_(file_, rows_);
    filled_ = true;
    at_ = 0;
  }
  bool at_end() const override { return at_ >= rows_.size(); }
  void next() override { ++at_; }
  int64_t row_id() const override { return int64_t(at_); }
  void column(sqlite3_context* context, int number) override {
    const Cell& cell = rows_[at_][size_t(number)];
    if (auto* n = std::get_if<int64_t>(&cell)) sqlite3_result_int64(context, *n);
    if (auto* text = std::get_if<std::string>(&cell)) set_text(context, *text);
  }

 private:
  const std::string file_;
  const Fill fill_;
  std::vector<Row> rows_;
  size_t at_ = 0;
  bool filled_ = false;
};

// Sums of a file, process or open instance.
struct Sum {
  uint64_t operations = 0, failed = 0, reads = 0, writes = 0, read_bytes = 0, written_bytes = 0;
  int64_t busy = 0, first = INT64_MAX, last = INT64_MIN;

  void add(const Op& op) {
    ++operations;
    failed += op.error != 0;
    first = std::min(first, op.start);
    last = std::max(last, op.end());
    busy += op.duration;
    const bool write = op.kind == OpKind::write || op.kind == OpKind::copy_file_range;
    if (!write && op.kind != OpKind::read) return;
    ++(write ? writes : reads);
    if (!op.error) (write ? written_bytes : read_bytes) += op.result;
  }
  void put(Row& row) const {
    for (uint64_t v : {operations, failed, reads, writes, read_bytes, written_bytes}) row.push_back(number(v));
    for (int64_t v : {busy, first, last}) row.push_back(v);
  }
};
#define FSR_SUM_COLUMNS                                                                                              \
  ", operations integer, failed integer, reads integer, writes integer, read_bytes integer, written_bytes integer, " \
  "busy integer, first_start integer, last_end integer"

template <class Visit>
void each_op(const std::string& name, TraceReader& reader, Visit visit) {
  OpBatch batch;
  while (reader.next(batch))
    for (const Op& op : batch.ops) visit(op);
  log_damage(name, reader.damage());
}

void fill_blocks(const std::string& name, std::vector<Row>& rows) {
  InputFiles files;
  for (const std::string& file : series_files(name)) files.push_back(std::make_unique<InputFile>(file));
  const TraceLayout layout = find_series_layout(files);
  log_damage(name, layout.damage);
  for (const IndexEntry& e : layout.blocks)
    rows.push_back({number(e.number), number(e.offset), number(e.bytes), number(e.checkpoint()), number(e.first_seq),
                    number(e.ops), e.checkpoint() ? number(0) : number(e.ends), trace_ns(e.first_start, layout.header.clock_unit),
                    trace_ns(e.last_start, layout.header.clock_unit)});
}

void fill_files(const std::string& name, std::vector<Row>& rows) {
  TraceReader reader(series_files(name), names_series(name));
  struct File {
    Sum sum;
    uint32_t mode = 0;
    Cell size;
  };
  std::unordered_map<ObjectId, File> files;
  Paths paths;
  LiveState state;
  reader.load_state(INT64_MIN, state);
  state.each_name([&](ObjectId parent, std::string_view part, ObjectId object, uint32_t) { paths.learn(parent, part, object); });
  each_op(name, reader, [&](const Op& op) {
    paths.apply(op);
    if (!op.object) return;
    File& f = files[op.object];
    f.sum.add(op);
    if (op.attr && op.attr->valid & kAttrMode) f.mode = op.attr->mode;
    if (op.attr && op.attr->valid & kAttrSize) f.size = number(op.attr->size);
  });
  for (const auto& [object, f] : files) {
    Row row{number(object), paths.path(object), f.mode ? number(f.mode) : Cell(), f.size};
    f.sum.put(row);
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a[0] < b[0]; });
}

void fill_processes(const std::string& name, std::vector<Row>& rows) {
  TraceReader reader(series_files(name), names_series(name));
  struct Process {
    int32_t parent = 0;
    std::string command;
    Sum sum;
  };
  std::map<std::pair<uint32_t, int32_t>, Process> processes;
  each_op(name, reader, [&](const Op& op) {
    if (!op.who) return;
    Process& p = processes[{op.who->client, op.who->pid}];
    p.parent = op.who->ppid;
    if (p.command != op.who->command) p.command = op.who->command;
    p.sum.add(op);
  });
  for (const auto& [id, p] : processes) {
    Row row{number(id.first), int64_t(id.second), int64_t(p.parent), p.command};
    p.sum.put(row);
    rows.push_back(std::move(row));
  }
}

// Names as they were at the end.
void fill_names(const std::string& name, std::vector<Row>& rows) {
  TraceReader reader(series_files(name), names_series(name));
  LiveState state;
  reader.load_state(INT64_MAX, state);
  log_damage(name, reader.damage());
  Paths paths;
  state.each_name([&](ObjectId parent, std::string_view part, ObjectId object, uint32_t) { paths.learn(parent, part, object); });
  state.each_name([&](ObjectId parent, std::string_view part, ObjectId object, uint32_t type) {
    rows.push_back({number(parent), std::string(part), object ? number(object) : Cell(), paths.path(parent, part),
                    type ? number(type) : Cell()});
  });
}

void fill_opens(const std::string& name, std::vector<Row>& rows) {
  TraceReader reader(series_files(name), names_series(name));
  struct Open {
    ObjectId object = kNoObject;
    std::string path;
    Cell pid, opened, closed, flags;
    Sum sum;
  };
  std::map<HandleId, Open> opens;
  Paths paths;
  LiveState state;
  reader.load_state(INT64_MIN, state);
  state.each_name([&](ObjectId parent, std::string_view part, ObjectId object, uint32_t) { paths.learn(parent, part, object); });
  state.each_open([&](const LiveOpen& open) {
    opens[open.handle] = {
        .object = open.object, .path = paths.path(open.object), .flags = number(trace_open_flags(open.open_flags))};
  });
  each_op(name, reader, [&](const Op& op) {
    paths.apply(op);
    if (!op.handle) return;
    Open& open = opens[op.handle];
    if (!open.object) {
      open.object = op.object;
      open.path = paths.path(op.object);
    }
    if (op.who && open.pid.index() == 0) open.pid = int64_t(op.who->pid);
    switch (op.kind) {
      case OpKind::open:
      case OpKind::opendir:
      case OpKind::create:
      case OpKind::tmpfile:
        open.opened = op.start;
        open.flags = number(trace_open_flags(op.open_flags));
        break;
      case OpKind::release:
      case OpKind::releasedir:
        open.closed = op.start;
        break;
      default:
        break;
    }
    open.sum.add(op);
  });
  for (const auto& [handle, open] : opens) {
    Row row{number(handle), number(open.object), open.path, open.pid, open.flags, open.opened, open.closed};
    open.sum.put(row);
    rows.push_back(std::move(row));
  }
}

template <SummaryRows::Fill fill>
std::unique_ptr<TraceRows> scan(const std::string& file) {
  return std::make_unique<SummaryRows>(file, fill);
}

}  // namespace

TraceTable blocks_table() {
  return {
      "blocks",
      "number integer, offset integer, bytes integer, checkpoint integer, first_seq integer, operations integer, ends integer, "
      "first_start integer, last_start integer",
      nullptr, scan<fill_blocks>};
}
TraceTable files_table() {
  return {"files", "object integer, path text, mode integer, size integer" FSR_SUM_COLUMNS, nullptr, scan<fill_files>};
}
TraceTable processes_table() {
  return {"processes", "client integer, pid integer, ppid integer, command text" FSR_SUM_COLUMNS, nullptr, scan<fill_processes>};
}
TraceTable names_table() {
  return {"names", "parent integer, name text, object integer, path text, type integer", nullptr, scan<fill_names>};
}
TraceTable opens_table() {
  return {"opens",
          "handle integer, object integer, path text, pid integer, open_flags integer, opened integer, closed "
          "integer" FSR_SUM_COLUMNS,
          nullptr, scan<fill_opens>};
}

}  // namespace fsr
