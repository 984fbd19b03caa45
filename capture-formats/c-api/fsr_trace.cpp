// SPDX-License-Identifier: Apache-2.0
#include "fsr_trace.h"

#include <exception>
#include <string>

#include "trace/live_state.hpp"
#include "trace/paths.hpp"
#include "trace/reader.hpp"
#include "trace/series.hpp"

namespace fsr {

static void set_error(const char** to, const std::string& what) {
  thread_local std::string text;
  text = what;
  if (to) *to = text.empty() ? nullptr : text.c_str();
}

}  // namespace fsr

struct fsr_trace {
  explicit fsr_trace(const char* file) : reader(fsr::series_files(file), fsr::names_series(file)) {
    // Names that were known before the first operation: the trace may be part of another one.
    fsr::LiveState state;
    reader.load_state(INT64_MIN, state);
    state.each_name([this](fsr::ObjectId parent, std::string_view name, fsr::ObjectId object, uint32_t) {
      paths.learn(parent, name, object);
    });
  }

  fsr::TraceReader reader;
  fsr::Paths paths;
  fsr::OpBatch batch;
  size_t at = 0;           // in the batch
  bool two_names = false;  // of the operation given last, whose new name holds from the next one on
  fsr_op op = {};          // the operation given last, and what it points to
  std::string path, path2, command;
};

using fsr::Op;
using fsr::OpKind;

static void describe(fsr_trace& trace, const Op& op) {
  trace.path = trace.paths.of(op);
  trace.path2 = op.kind == OpKind::rename || op.kind == OpKind::link ? trace.paths.path(op.parent2, op.name2) : "";
  trace.command = op.who ? op.who->command : "";
  trace.op = {
      .number = op.seq,
      .start_ns = op.start,
      .duration_ns = op.duration,
      .kind = fsr::op_name(op.kind),
      .path = trace.path.c_str(),
      .path2 = trace.path2.c_str(),
      .error = op.error,
      .flags = (op.has(fsr::kOpKernel) ? FSR_OP_KERNEL : 0) | (op.has(fsr::kOpUnfinished) ? FSR_OP_UNFINISHED : 0),
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
  };
}

extern "C" {

fsr_trace* fsr_trace_open(const char* file, const char** error) {
  try {
    fsr::set_error(error, "");
    return new fsr_trace(file);
  } catch (const std::exception& e) {
    fsr::set_error(error, e.what());
    return nullptr;
  }
}

const fsr_op* fsr_trace_next(fsr_trace* trace, const char** error) {
  try {
    fsr::set_error(error, "");
    if (trace->two_names) trace->paths.apply(trace->batch.ops[trace->at - 1]);
    trace->two_names = false;
    while (trace->at == trace->batch.ops.size()) {
      trace->at = 0;
      if (trace->reader.next(trace->batch)) continue;
      if (!trace->reader.damage().empty()) fsr::set_error(error, trace->reader.damage().front().what);
      return nullptr;
    }
    const Op& op = trace->batch.ops[trace->at++];
    trace->two_names = fsr::has_two_names(op);
    if (!trace->two_names) trace->paths.apply(op);
    describe(*trace, op);
    return &trace->op;
  } catch (const std::exception& e) {
    fsr::set_error(error, e.what());
    return nullptr;
  }
}

void fsr_trace_close(fsr_trace* trace) { delete trace; }

}  // extern "C"
