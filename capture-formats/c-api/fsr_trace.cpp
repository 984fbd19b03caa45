// SPDX-License-Identifier: Apache-2.0
// The functions of fsr_trace.h: no exception leaves them.
#include "fsr_trace.h"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>

#include "op_kinds.hpp"
#include "trace_cursor.hpp"

using fsr::Op;
using fsr::OpKind;

struct fsr_trace {
  explicit fsr_trace(const char* file) : cursor(file) {
    const fsr::TraceReader& reader = cursor.reader();
    const fsr::TraceHeader& header = reader.header();
    info = {
        .operations = reader.operations(),
        .dropped = reader.closing() ? reader.closing()->dropped : 0,
        .begin_ns = reader.begin_time(),
        .end_ns = reader.end_time(),
        .epoch_ns = header.epoch,
        .id = header.id.c_str(),
        .host = header.host.c_str(),
        .directory = header.directory.c_str(),
        .command = header.command.c_str(),
        .program = header.program.c_str(),
    };
  }

  fsr::TraceCursor cursor;
  fsr_info info = {};
  fsr_op op = {};  // the operation given last, and what it points to
  std::string path, path2, command;
};

static void set_error(const char** to, const std::string& what) {
  thread_local std::string text;
  text = what;
  if (to) *to = text.empty() ? nullptr : text.c_str();
}

// Returns what `call` returns, or `failed` if it throws.
template <class Result, class Call>
static Result guarded(const char** error, Result failed, Call call) {
  try {
    set_error(error, "");
    return call();
  } catch (const std::exception& e) {
    set_error(error, e.what());
    return failed;
  }
}

static void end_reached(const fsr_trace& trace, const char** error) {
  const auto& damage = trace.cursor.reader().damage();
  if (!damage.empty()) set_error(error, damage.front().what);
}

static uint32_t flags_of(const Op& op) {
  return (op.has(fsr::kOpKernel) ? FSR_OP_KERNEL : 0) | (op.has(fsr::kOpUnfinished) ? FSR_OP_UNFINISHED : 0);
}

static void describe(fsr_trace& trace, const Op& op) {
  const bool with_paths = trace.cursor.selection().paths;
  const fsr::Paths& paths = trace.cursor.names().paths();
  trace.path = with_paths ? paths.of(op) : "";
  trace.path2 = with_paths && fsr::has_two_names(op) ? paths.path(op.parent2, op.name2) : "";
  trace.command = op.who ? op.who->command : "";
  trace.op = {
      .number = op.seq,
      .start_ns = op.start,
      .duration_ns = op.duration,
      .kind = fsr::op_name(op.kind),
      .path = trace.path.c_str(),
      .path2 = trace.path2.c_str(),
      .error = op.error,
      .flags = flags_of(op),
      .object = op.object,
      .handle = op.handle,
      .offset = op.offset,
      .length = op.length,
      .result = op.result,
      .uid = op.uid,
      .gid = op.gid,
      .pid = op.who ? op.who->pid : 0,
      .tid = op.who ? op.who->tid : 0,
      .command = trace.command.c_str(),
      .client = op.who ? op.who->client : 0,
      .mode = op.mode,
      .open_flags = op.open_flags,
  };
}

template <class T, class V>
static void put(T* column, size_t row, V value) {
  if (column) column[row] = T(value);
}

static void put_row(fsr::TraceCursor& cursor, const fsr_columns& to, size_t row, const Op& op) {
  put(to.number, row, op.seq);
  put(to.start_ns, row, op.start);
  put(to.duration_ns, row, op.duration);
  put(to.kind, row, op.kind);
  put(to.error, row, op.error);
  put(to.flags, row, flags_of(op));
  put(to.object, row, op.object);
  put(to.handle, row, op.handle);
  put(to.offset, row, op.offset);
  put(to.length, row, op.length);
  put(to.result, row, op.result);
  put(to.uid, row, op.uid);
  put(to.gid, row, op.gid);
  put(to.pid, row, op.who ? op.who->pid : 0);
  put(to.tid, row, op.who ? op.who->tid : 0);
  put(to.client, row, op.who ? op.who->client : 0);
  put(to.mode, row, op.mode);
  put(to.open_flags, row, op.open_flags);
  const bool with_paths = cursor.selection().paths;
  if (to.path) to.path[row] = with_paths ? cursor.names().of(op) : fsr::StringTable::kEmpty;
  if (to.path2) to.path2[row] = with_paths && fsr::has_two_names(op) ? cursor.names().new_name(op) : fsr::StringTable::kEmpty;
  if (to.command) to.command[row] = cursor.command_number(op.who);
}

static uint64_t kind_bits(const char* const* names, size_t count) {
  if (count == 0) return UINT64_MAX;
  uint64_t bits = 0;
  for (size_t i = 0; i < count; ++i) try {
      bits |= uint64_t(1) << unsigned(fsr::op_kind_named(names[i]));
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument("'" + std::string(names[i]) + "': " + e.what());
    }
  return bits;
}

static void require_size(size_t size, size_t least, const char* what) {
  if (size < least) throw std::invalid_argument(std::string(what) + ".size is not that of the structure");
}

extern "C" {

fsr_trace* fsr_trace_open(const char* file, const char** error) {
  return guarded(error, static_cast<fsr_trace*>(nullptr), [&] { return new fsr_trace(file); });
}

const fsr_op* fsr_trace_next(fsr_trace* trace, const char** error) {
  return guarded(error, static_cast<const fsr_op*>(nullptr), [&]() -> const fsr_op* {
    const Op* op = trace->cursor.next();
    if (!op) return end_reached(*trace, error), nullptr;
    describe(*trace, *op);
    return &trace->op;
  });
}

void fsr_trace_close(fsr_trace* trace) { delete trace; }

int fsr_trace_select(fsr_trace* trace, const fsr_selection* selection, const char** error) {
  return guarded(error, -1, [&] {
    require_size(selection->size, sizeof *selection, "fsr_selection");
    trace->cursor.select({.from = selection->from_ns,
                          .to = selection->to_ns,
                          .kinds = kind_bits(selection->kinds, selection->kind_count),
                          .pids = {selection->pids, selection->pids + selection->pid_count},
                          .tids = {selection->tids, selection->tids + selection->tid_count},
                          .paths = selection->without_paths == 0});
    return 0;
  });
}

size_t fsr_trace_read_columns(fsr_trace* trace, const fsr_columns* columns, size_t most, const char** error) {
  size_t rows = 0;
  return guarded(error, FSR_FAILED, [&] {
    require_size(columns->size, sizeof *columns, "fsr_columns");
    const Op* op;
    while (rows < most && (op = trace->cursor.next())) put_row(trace->cursor, *columns, rows++, *op);
    if (rows < most) end_reached(*trace, error);
    return rows;
  });
}

const char* fsr_trace_string(const fsr_trace* trace, uint32_t number) {
  const std::string* text = trace->cursor.strings().find(number);
  return text ? text->c_str() : nullptr;
}

const char* fsr_kind_name(unsigned kind) { return kind < fsr::kOpKinds ? fsr::op_name(OpKind(kind)) : nullptr; }

const fsr_info* fsr_trace_info(const fsr_trace* trace) { return &trace->info; }

const char* fsr_trace_damage(const fsr_trace* trace, size_t number) {
  const auto& damage = trace->cursor.reader().damage();
  return number < damage.size() ? damage[number].what.c_str() : nullptr;
}

}  // extern "C"
