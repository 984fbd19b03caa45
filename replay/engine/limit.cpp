// SPDX-License-Identifier: Apache-2.0
#include "engine/limit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "measure/stood_still.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

constexpr double kIdleTarget = 0.5;  // operations in flight on average; with fewer, the target is idle most of the time
constexpr double kNotable = 0.1;     // part of the streams' time; a smaller part limits nothing
constexpr double kSlower = 1.05;     // times the capture's service time; more counts as slower
constexpr double kKeptShare =
    0.01;  // part of operations, and of time at the end, that may be behind a schedule that counts as kept
constexpr double kKeptTime = 0.05;  // part of the time during which more operations may be behind

constexpr double kInCalls = 0.8;     // part of the workers' time in calls; with more, they issue too few operations at once
constexpr double kLongCall = 200e3;  // ns; more workers do not help with shorter calls, which keep the processors busy

class Judge {
 public:
  Judge(const RunOptions& options, RunResult& r)
      : options_(options), r_(r), slower_(r.recorded_service > 0 ? served_ / r.recorded_service : 0) {}

  void judge() {
    if (r_.stood_still > r_.silent && double(r_.stood_still) > double(r_.elapsed) * kKeptTime &&
        (options_.timing != Timing::original || !kept()))
      return set(Limit::replayer, stood_still_text(r_.stood_still));
    if (steals(r_.stolen, r_.elapsed, kMostStolen) && (options_.timing != Timing::original || !kept()))
      return set(Limit::replayer, stolen_text(r_.stolen, r_.elapsed));
    if (r_.silent && (r_.unanswered || silence_limits()))
      return set(Limit::target, fmt::format("the target did not answer for {}", format_duration(r_.silent)));
    if (double(r_.unanswered) > double(r_.issued()) * kKeptShare)
      return set(Limit::target, fmt::format("the target did not answer {} operations", format_count(r_.unanswered)));
    if (workers_in_calls() > kInCalls && r_.service.mean() > kLongCall && r_.streams > r_.workers &&
        (options_.timing != Timing::original || !kept()))
      return set(Limit::replayer,
                 fmt::format("fsreplay's own threads: all {} workers were in calls of the target for {:.0f} % of "
                             "the time, at a service time of {}, while {} streams had operations; give more "
                             "--workers",
                             r_.workers, workers_in_calls() * 100, format_duration(int64_t(r_.service.mean())),
                             format_count(r_.streams)));
    switch (options_.timing) {
      case Timing::original:
        return original();
      case Timing::think:
        return think();
      case Timing::asap:
        return asap();
    }
  }

 private:
  void set(Limit limit, std::string text) {
    r_.limit = limit;
    r_.limit_text = std::move(text);
  }
  std::string service_time() const {
    return format_duration(int64_t(r_.service.mean())) +
           (slower_ > 0 ? fmt::format(", {:.2f} times the capture's", slower_) : "");
  }
  double workers_in_calls() const {
    return r_.elapsed > 0 && r_.workers ? double(r_.in_calls) / double(r_.elapsed) / r_.workers : 0;
  }
  double depth() const { return r_.elapsed > 0 ? served_ / double(r_.elapsed) : 0; }

  bool silence_limits() const {
    return options_.timing == Timing::original ? !kept() : double(r_.silent) > double(r_.elapsed) * kNotable;
  }

  // True: nearly all operations that were due were issued, and the run ended about when the schedule did.
  bool kept_pace() const {
    // The service time of the last operations is no delay of the schedule.
    const int64_t at_end = r_.elapsed - r_.planned - r_.stood_still - r_.service.quantile(0.99);
    const int64_t may_be_late = std::max(std::min(kBehind, r_.planned / 10), int64_t(double(r_.planned) * kKeptShare));
    return at_end <= may_be_late && double(r_.overdue) <= double(r_.due_in_all()) * kKeptShare;
  }
  // True: in addition, nearly all operations were issued in time, and that nearly all of the time.
  bool kept() const {
    return kept_pace() && double(r_.behind + r_.overdue) <= double(r_.due_in_all()) * kKeptShare &&
           double(r_.behind_time) <= double(r_.elapsed) * kKeptTime;
  }

  void original() {
    const std::string lateness = format_duration(r_.lateness.quantile(0.99));
    if (kept()) return set(Limit::none, fmt::format("the schedule was kept (lateness p99 {})", lateness));
    // A run that kept its pace was not limited, only late for a while.
    const std::string late = kept_pace() ? fmt::format("the pace was kept, but {} operations were issued more than {} late",
                                                       format_count(r_.behind), format_duration(kBehind))
                                         : "";
    if (late_ > waited_)
      return set(
          Limit::replayer,
          fmt::format(
              "{}: its own delays cost {} an operation, with all that waited behind (lateness p99 {}, max {}){}",
              late.empty() ? "fsreplay did not keep up" : late + " by fsreplay",
              format_duration(int64_t(late_ / double(std::max<uint64_t>(1, r_.service.count())))), lateness,
              format_duration(r_.lateness.max()),
              r_.window_full ? fmt::format(", look-ahead window full for {} operations", format_count(r_.window_full)) : ""));
    // The streams of a load that was not recorded wait for the target only. Such a load has no recorded service times.
    if (r_.recorded_service <= 0 || (slower_ * options_.scale > kSlower && slower_ > kSlower))
      set(Limit::target, (late.empty() ? "the target did not keep up" : late + " because of the target") +
                             ": mean service time " + service_time());
    else
      set(Limit::streams,
          fmt::format("{}: operations waited {} on average for earlier operations, at a mean "
                      "service time of {}",
                      late.empty() ? "the recorded order did not allow more" : late + " because of the recorded order",
                      format_duration(int64_t(waited_ / double(std::max<uint64_t>(1, r_.service.count())))), service_time()));
  }

  void think() {
    const double all = r_.think + waited_ + served_ + late_;
    if (late_ > served_ && late_ > kNotable * all)
      replayer();
    else if (served_ < kNotable * all || (slower_ > 0 && slower_ <= kSlower))
      set(Limit::streams,
          fmt::format("the recorded think times and order, with {:.1f} operations in flight on average", depth()));
    else
      target();
  }

  void asap() {
    // If the target is full, operations also stay ready for longer. So that time shows something only if the target had little to
    // do.
    if (late_ > served_ && depth() < kIdleTarget)
      replayer();
    else
      target();
  }

  void replayer() {
    set(Limit::replayer,
        fmt::format(
            "fsreplay: {:.2f} operations were in flight on average, while others were ready for {} before fsreplay issued them",
            depth(), format_duration(int64_t(r_.lateness.mean()))));
  }
  void target() {
    set(Limit::target,
        fmt::format("the target, with {:.1f} operations in flight on average at a service time of {}", depth(), service_time()));
  }

  const RunOptions& options_;
  RunResult& r_;
  const double served_ = r_.service.sum();
  // Delays that the replayer caused, and those that others caused. With a schedule, lateness makes later operations wait.
  const double late_ = options_.timing == Timing::original ? r_.own_delay : r_.lateness.sum(),
               waited_ = r_.lateness.sum() + r_.waiting.sum() - late_;
  const double slower_;
};

}  // namespace

// The longest operation may have been the last one, whose own time is no delay of the schedule.
int64_t late_after(const RunResult& run, int64_t end) {
  return std::max<int64_t>(0, run.elapsed - end - run.stood_still - std::max(run.service.max(), run.failing.max()));
}

int64_t late_at_end(const RunResult& run) { return run.planned == 0 ? 0 : late_after(run, run.planned); }

void find_limit(const RunOptions& options, RunResult& result) { Judge(options, result).judge(); }

}  // namespace fsr
