// SPDX-License-Identifier: Apache-2.0
// The operations of a model as a trace.
#include <algorithm>
#include <array>

#include "model/model_source.hpp"
#include "model/quantiles.hpp"
#include "trace/live_state.hpp"
#include "trace/writer.hpp"

namespace fsr {

namespace {

// Lets a run take the time that it should. The longest pauses in which nothing runs become longer or shorter, as few of them as
// will do. The length of a run comes from there, and most times stay as they were drawn.
class Pace {
 public:
  void learn(const Op& op) {
    if (op.start > end_) idle_[time_code(uint64_t(op.start - end_))] += double(op.start - end_);
    end_ = std::max(end_, op.end());
  }

  // Ends learning. `length`: ns, after which the last operation ends.
  void fit(int64_t length) {
    const double missing = length == end_ ? 1 : double(length - end_);
    const double most = missing < 0 ? -0.95 : 0.5;  // part of a pause by which it may become longer
    double sum = 0;
    for (shortest_ = idle_.size(); shortest_ > 0 && sum * most / missing < 1;) sum += idle_[--shortest_];
    factor_ = sum * most / missing < 1 ? most : missing / sum;
    const double reached = double(end_) + factor_ * sum;
    rest_ = reached > 0 ? double(length) / reached : 1;
    end_ = 0;
  }

  void apply(Op& op) {
    if (op.start > end_ && time_code(uint64_t(op.start - end_)) >= shortest_) shift_ += factor_ * double(op.start - end_);
    end_ = std::max(end_, op.end());
    op.start = int64_t((double(op.start) + shift_) * rest_);
    if (rest_ < 1) op.duration = int64_t(double(op.duration) * rest_);  // never longer: it is what a replay is compared with
  }

 private:
  std::array<double, kMostTimeCode + 1> idle_{};  // ns, by their code
  int64_t end_ = 0;                               // of all operations so far
  size_t shortest_ = 0;                           // code of a pause
  double factor_ = 0;                             // by which pauses become longer
  double shift_ = 0;                              // ns
  double rest_ = 1;                               // for all starts, if pauses do not suffice
};

}  // namespace

ModelCounts write_model_trace(const LoadModel& model, const ModelOptions& options, int fd) {
  OpBatch batch;
  Pace pace;
  ModelSource first(model, options);  // shows which objects existed, and how long it takes
  while (first.next(batch))
    for (const Op& op : batch.ops) pace.learn(op);
  pace.fit(first.length());
  ModelSource source(model, options);
  TraceWriter writer(fd, source.header(), {}, first.before());
  while (source.next(batch))
    for (Op& op : batch.ops) {
      pace.apply(op);
      writer.add(op);
    }
  writer.finish({.clean = true, .reason = "the model ended", .end = first.length()});
  return source.counts();
}

}  // namespace fsr
