// SPDX-License-Identifier: Apache-2.0
// The operations of a model as a trace.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "model/model_source.hpp"
#include "model/quantiles.hpp"
#include "trace/live_state.hpp"
#include "trace/writer.hpp"
#include "util/random.hpp"

namespace fsr {

namespace {

// Lets a run take the time that it should. The longest pauses in which nothing runs become longer or shorter, as few of them as
// will do. The length of a run comes from there, and most times stay as they were drawn.
class Pace {
 public:
  // `stalls`: ns, of one run; spread over the operations in a random order.
  Pace(std::vector<int64_t> stalls, double runs, uint64_t seed) : stalls_(std::move(stalls)), runs_(runs), random_(seed) {
    for (size_t i = stalls_.size(); i > 1; --i) std::swap(stalls_[i - 1], stalls_[random_.below(i)]);
  }

  void learn(const Op& op) {
    ++operations_;
    if (op.start > end_) idle_[time_code(uint64_t(op.start - end_))] += double(op.start - end_);
    end_ = std::max(end_, op.end());
  }

  // Ends learning. `length`: ns, after which the last operation ends.
  void fit(int64_t length) {
    const size_t n = stalls_.size();
    stalls_left_ = of_all_ = std::min(operations_, uint64_t(runs_ * double(n) + 0.5));
    const auto sum_of = [&](uint64_t some) { return std::accumulate(stalls_.begin(), stalls_.begin() + ptrdiff_t(some), 0.0); };
    const double ends = double(end_) + (n ? double(of_all_ / n) * sum_of(n) + sum_of(of_all_ % n) : 0);
    const double missing = double(length) == ends ? 1 : double(length) - ends;
    const double most = missing < 0 ? -0.95 : 0.5;  // part of a pause by which it may become longer
    double sum = 0;
    for (shortest_ = idle_.size(); shortest_ > 0 && sum * most / missing < 1;) sum += idle_[--shortest_];
    factor_ = sum * most / missing < 1 ? most : missing / sum;
    const double reached = ends + factor_ * sum;
    rest_ = reached > 0 ? double(length) / reached : 1;
    end_ = 0;
    plan_stall();
  }

  void apply(Op& op) {
    if (stalls_left_ && ++done_ >= stall_at_) {
      shift_ += double(stalls_[(of_all_ - stalls_left_--) % stalls_.size()]);
      plan_stall();
    }
    if (op.start > end_ && time_code(uint64_t(op.start - end_)) >= shortest_) shift_ += factor_ * double(op.start - end_);
    end_ = std::max(end_, op.end());
    op.start = int64_t((double(op.start) + shift_) * rest_);
    if (rest_ < 1) op.duration = int64_t(double(op.duration) * rest_);  // never longer: it is what a replay is compared with
  }

 private:
  // Each has an equal part of the operations.
  void plan_stall() {
    const double each = double(operations_) / double(std::max<uint64_t>(1, of_all_));
    stall_at_ = uint64_t((double(of_all_ - stalls_left_) + random_.unit()) * each);
  }

  std::array<double, kMostTimeCode + 1> idle_{};  // ns, by their code
  std::vector<int64_t> stalls_;
  double runs_;
  Random random_;
  uint64_t operations_ = 0, done_ = 0;
  uint64_t of_all_ = 0, stalls_left_ = 0;  // stalls of all runs
  uint64_t stall_at_ = 0;                  // number of the operation after the next stall
  int64_t end_ = 0;                        // of all operations so far
  size_t shortest_ = 0;                    // code of a pause
  double factor_ = 0;                      // by which pauses become longer
  double shift_ = 0;                       // ns
  double rest_ = 1;                        // for all starts, if pauses do not suffice
};

}  // namespace

ModelCounts write_model_trace(const LoadModel& model, const ModelOptions& options, int fd) {
  OpBatch batch;
  ModelSource first(model, options);  // shows which objects existed, and how long it takes
  Pace pace(stalls_of(model), first.runs(), options.seed);
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
