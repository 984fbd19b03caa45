// SPDX-License-Identifier: Apache-2.0
// The table `ops`: operations, read from the block on that the index names for the least start or number asked for.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "../trace/live_state.hpp"
#include "../trace/open_flags.hpp"
#include "../trace/paths.hpp"
#include "../trace/reader.hpp"
#include "../trace/series.hpp"
#include "sqlite_api.hpp"
#include "trace_tables.hpp"

namespace fsr {

namespace {

enum Column : int {
  kSeq,
  kStart,
  kDuration,
  kOp,
  kError,
  kUnfinished,
  kClient,
  kPid,
  kTid,
  kCommand,
  kUid,
  kGid,
  kObject,
  kHandle,
  kPath,
  kPath2,
  kOffset,
  kLength,
  kResult,
  kBytes,
  kMode,
  kFlags,
  kOpenFlags,
  kKernel,
  kInferred,
};
constexpr const char* kOpsColumns =
    "seq integer, start integer, duration integer, op text, error text, unfinished integer, client integer, pid integer, "
    "tid integer, command text, uid integer, gid integer, object integer, handle integer, path text, path2 text, "
    "offset integer, length integer, result integer, bytes integer, mode integer, flags integer, open_flags integer, "
    "kernel integer, inferred integer";

constexpr int kWithPaths = 1;  // of a plan's number

// A plan is a letter for each value: which column, and lower case for a lower bound, upper case for an upper one, = for both.
constexpr struct {
  int column;
  char lower, upper, equal;
} kBounds[] = {{kStart, 's', 'S', '1'}, {kSeq, 'n', 'N', '2'}, {kOp, 0, 0, 'o'},    {kPid, 0, 0, 'p'},
               {kUid, 0, 0, 'u'},       {kObject, 0, 0, 'f'},  {kHandle, 0, 0, 'h'}};

int best_index(sqlite3_index_info* info) noexcept {
  std::string plan;
  double cost = 1e9;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& c = info->aConstraint[i];
    // Another collation than BINARY finds more than what equals: SQLite compares for itself.
    if (!c.usable || strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0) continue;
    for (const auto& bound : kBounds) {
      if (c.iColumn != bound.column && !(c.iColumn == -1 && bound.column == kSeq)) continue;
      char letter = 0;
      if (c.op == SQLITE_INDEX_CONSTRAINT_EQ) letter = bound.equal;
      if (c.op == SQLITE_INDEX_CONSTRAINT_GT || c.op == SQLITE_INDEX_CONSTRAINT_GE) letter = bound.lower;
      if (c.op == SQLITE_INDEX_CONSTRAINT_LT || c.op == SQLITE_INDEX_CONSTRAINT_LE) letter = bound.upper;
      if (!letter) continue;
      plan += letter;
      info->aConstraintUsage[i].argvIndex = int(plan.size());  // SQLite checks once more: the bounds need not be sharp
      cost /= bound.column == kStart || bound.column == kSeq ? (letter == bound.equal ? 1e6 : 30) : 2;
    }
  }
  info->estimatedCost = cost;
  info->estimatedRows = std::max<sqlite3_int64>(1, sqlite3_int64(cost / 10));
  const uint64_t paths = uint64_t(1) << kPath | uint64_t(1) << kPath2;
  info->idxNum = info->colUsed & paths ? kWithPaths : 0;
  // Operations come in order of start and of number.
  if (info->nOrderBy == 1 && !info->aOrderBy[0].desc && (info->aOrderBy[0].iColumn == kSeq || info->aOrderBy[0].iColumn == -1))
    info->orderByConsumed = 1;
  info->idxStr = sqlite3_mprintf("%s", plan.c_str());
  if (!info->idxStr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  return SQLITE_OK;
}

class OpsRows final : public TraceRows {
 public:
  explicit OpsRows(const std::string& file) : file_(file), reader_(series_files(file), names_series(file)) {}
  ~OpsRows() override { log_damage(file_, reader_.damage()); }

  void begin(int columns_used, const char* plan, const std::vector<sqlite3_value*>& values) override {
    with_paths_ = columns_used & kWithPaths;
    bounds_ = {};
    for (size_t i = 0; i < values.size(); ++i) bound(plan[i], values[i]);
    // If operations are out of order, a bound of the time can't end the scan.
    const TraceClosing* closing = reader_.closing();
    ordered_ = closing && closing->out_of_order == 0;
    paths_ = Paths();
    if (with_paths_) {
      if (bounds_.first_start == INT64_MIN && bounds_.first_seq > 0) bounds_.first_start = start_of(bounds_.first_seq);
      LiveState state;
      reader_.load_state(bounds_.first_start, state);
      state.each_name(
          [&](ObjectId parent, std::string_view name, ObjectId object, uint32_t) { paths_.learn(parent, name, object); });
    } else if (bounds_.first_seq > 0) {
      reader_.seek_op(bounds_.first_seq);
    } else {
      reader_.seek_time(bounds_.first_start);
    }
    batch_.clear();
    at_ = 0;
    done_ = bounds_.impossible;
    pending_ = nullptr;
    if (!done_) advance();
  }

  bool at_end() const override { return done_; }
  void next() override { advance(); }
  int64_t row_id() const override { return int64_t(batch_.ops[at_ - 1].seq); }

  void column(sqlite3_context* c, int number) override {
    const Op& op = batch_.ops[at_ - 1];
    const bool known = !op.has(kOpUnfinished);
    const bool data = op.kind == OpKind::read || op.kind == OpKind::write || op.kind == OpKind::copy_file_range;
    auto integer = [&](uint64_t v) { sqlite3_result_int64(c, sqlite3_int64(v)); };
    auto who = [&](int64_t v) {
      if (op.who) sqlite3_result_int64(c, v);
    };
    switch (number) {
      case kSeq:
        return integer(op.seq);
      case kStart:
        return sqlite3_result_int64(c, op.start);
      case kDuration:
        if (known) sqlite3_result_int64(c, op.duration);
        return;
      case kOp:
        return sqlite3_result_text(c, op_name(op.kind), -1, SQLITE_STATIC);
      case kError:
        if (const char* name = op.error ? strerrorname_np(op.error) : nullptr)
          return sqlite3_result_text(c, name, -1, SQLITE_STATIC);
        if (op.error) set_text(c, "E" + std::to_string(op.error));
        return;
      case kUnfinished:
        return integer(!known);
      case kClient:
        return who(op.who ? op.who->client : 0);
      case kPid:
        return who(op.who ? op.who->pid : 0);
      case kTid:
        return who(op.who ? op.who->tid : 0);
      case kCommand:
        if (op.who) set_text(c, op.who->command);
        return;
      case kUid:
        return integer(op.uid);
      case kGid:
        return integer(op.gid);
      case kObject:
        return integer(op.object);
      case kHandle:
        return integer(op.handle);
      case kPath:
        return set_text(c, paths_.of(op));
      case kPath2:
        if (!op.name2.empty()) set_text(c, paths_.path(op.parent2, op.name2));
        return;
      case kOffset:
        return integer(op.offset);
      case kLength:
        return integer(op.length);
      case kResult:
        if (known && !op.error) integer(op.result);
        return;
      case kBytes:
        return integer(known && !op.error && data ? op.result : 0);
      case kMode:
        return integer(op.mode);
      case kFlags:
        return integer(op.flags);
      case kOpenFlags:
        return integer(trace_open_flags(op.open_flags));
      case kKernel:
        return integer(op.has(kOpKernel));
      case kInferred:
        return integer(op.has(kOpInferred));
      default:
        return;
    }
  }

 private:
  void bound(char letter, sqlite3_value* value) {
    if (letter == 'o') {
      const unsigned char* text = sqlite3_value_text(value);
      OpKind kind;
      if (!text || !op_from_name(reinterpret_cast<const char*>(text), &kind))
        bounds_.impossible = true;
      else
        bounds_.kind = kind;
      return;
    }
    const int type = sqlite3_value_numeric_type(value);
    if (type == SQLITE_NULL) bounds_.impossible = true;  // no row matches a comparison with NULL
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return;
    const double real = sqlite3_value_double(value);
    const bool fits = type == SQLITE_INTEGER || std::abs(real) < 9e18;
    if (!fits) return;
    const int64_t low = type == SQLITE_INTEGER ? sqlite3_value_int64(value) : int64_t(std::floor(real));
    const int64_t high = type == SQLITE_INTEGER ? low : int64_t(std::ceil(real));
    const uint64_t low_seq = low < 0 ? 0 : uint64_t(low);
    if (letter == 's' || letter == '1') bounds_.first_start = std::max(bounds_.first_start, low);
    if (letter == 'S' || letter == '1') bounds_.last_start = std::min(bounds_.last_start, high);
    if (letter == 'n' || letter == '2') bounds_.first_seq = std::max(bounds_.first_seq, low_seq);
    if (letter == 'N' || letter == '2') {
      if (high < 0) bounds_.impossible = true;
      bounds_.last_seq = std::min(bounds_.last_seq, uint64_t(high));
    }
    if (letter == 'p') bounds_.pid = low;
    if (letter == 'u') bounds_.uid = low;
    if (letter == 'f') bounds_.object = low;
    if (letter == 'h') bounds_.handle = low;
  }

  int64_t start_of(uint64_t seq) {
    reader_.seek_op(seq);
    OpBatch batch;
    return reader_.next(batch) ? batch.ops[0].start : INT64_MAX;
  }

  bool wanted(const Op& op) const {
    if (op.seq < bounds_.first_seq || op.start < bounds_.first_start || op.start > bounds_.last_start) return false;
    if (bounds_.kind && op.kind != *bounds_.kind) return false;
    if (bounds_.pid && (!op.who || op.who->pid != *bounds_.pid)) return false;
    if (bounds_.uid && op.uid != *bounds_.uid) return false;
    if (bounds_.object && int64_t(op.object) != *bounds_.object) return false;
    return !bounds_.handle || int64_t(op.handle) == *bounds_.handle;
  }

  // Goes on to the next operation in the bounds of the query. Names are then those before the operation, and its own.
  void advance() {
    for (;;) {
      if (pending_ && with_paths_) paths_.apply(*pending_);
      pending_ = nullptr;
      if (at_ == batch_.ops.size()) {
        at_ = 0;
        if (!reader_.next(batch_)) return void(done_ = true);
      }
      const Op& op = batch_.ops[at_++];
      if (op.seq > bounds_.last_seq || (ordered_ && op.start > bounds_.last_start)) return void(done_ = true);
      if (has_two_names(op))
        pending_ = &op;
      else if (with_paths_)
        paths_.apply(op);
      if (wanted(op)) return;
    }
  }

  const std::string file_;
  TraceReader reader_;
  OpBatch batch_;
  Paths paths_;
  size_t at_ = 0;  // behind the row in hand
  const Op* pending_ = nullptr;
  bool done_ = true, with_paths_ = false, ordered_ = false;
  struct Bounds {
    bool impossible = false;
    int64_t first_start = INT64_MIN, last_start = INT64_MAX;
    uint64_t first_seq = 0, last_seq = UINT64_MAX;
    std::optional<OpKind> kind;
    std::optional<int64_t> pid, uid, object, handle;
  } bounds_;
};

}  // namespace

TraceTable ops_table() {
  return {"ops", kOpsColumns, best_index,
          [](const std::string& file) -> std::unique_ptr<TraceRows> { return std::make_unique<OpsRows>(file); }};
}

}  // namespace fsr
