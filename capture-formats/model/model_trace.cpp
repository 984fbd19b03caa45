// SPDX-License-Identifier: Apache-2.0
// The operations of a model as a trace.
#include <algorithm>

#include "model/model_source.hpp"
#include "trace/live_state.hpp"
#include "trace/writer.hpp"

namespace fsr {

ModelCounts write_model_trace(const LoadModel& model, const ModelOptions& options, int fd) {
  OpBatch batch;
  ModelSource first(model, options);  // shows which objects existed
  while (first.next(batch)) {
  }
  ModelSource source(model, options);
  TraceWriter writer(fd, source.header(), {}, first.before());
  int64_t end = 0;
  while (source.next(batch))
    for (const Op& op : batch.ops) {
      writer.add(op);
      end = std::max(end, op.end());
    }
  writer.finish({.clean = true, .reason = "the model ended", .end = end});
  return source.counts();
}

}  // namespace fsr
