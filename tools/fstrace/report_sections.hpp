// SPDX-License-Identifier: Apache-2.0
// Parts of pages about traces: drawings of one trace or of several in one, what commands waited for, when they worked, and the
// longest operations. Also tables of the files or commands that took the most time, and the model of which a trace is a run.
#pragma once

#include <string>
#include <vector>

#include "command_activity.hpp"
#include "model/model.hpp"
#include "profile.hpp"
#include "slowest_ops.hpp"
#include "stat_groups.hpp"
#include "util/html_page.hpp"

namespace fsr::fstrace {

struct TimeSeries {
  std::string name;  // empty: there is only one
  const Profile* profile = nullptr;
  double (*value)(const TimeBin&) = nullptr;  // is drawn for each second of the bin's length
};
inline constexpr const char* kTimeLabel = "time since the first operation";  // of all axes of time

// Draws values over the time since the first operation.
Chart over_time(const std::string& title, const std::string& label, const std::vector<TimeSeries>& series, NumberText text);
// Draws the share of time for each number of operations in flight.
Chart time_at_depth(const std::vector<const Profile*>& profiles);

// Latencies over time. One thread. Memory follows the spread of latencies, not the length of the trace: at most 2 MiB.
class LatencyTimeline {
 public:
  void add(const Op& op);  // in order of start
  // The median, the 99th percentile and the longest of each stretch of time; a gap where no operation started.
  // Both end `seconds` after the first operation, as the other drawings of the trace.
  Chart chart(double seconds) const;
  HeatMap heat_map(double seconds) const;
  int64_t width() const { return width_; }  // of a stretch, ns

 private:
  int64_t start_ = -1, width_ = 1'000'000;  // ns
  std::vector<Histogram> bins_;
};

// Adds the time of each command by what it asked for, and the longest operations. `profile`: of the same trace.
void add_what_was_slow(HtmlPage& page, const CommandActivity& activity, const SlowestOps& slowest, const Profile& profile);
// Adds a drawing of the operations of each command over `seconds` since the first operation.
void add_activity(HtmlPage& page, const CommandActivity& activity, double seconds);

// The operations that a file, a command or a kind took part in.
struct HotPart {
  std::string name;
  const Measure* measure = nullptr;
};
constexpr size_t kHot = 20;  // parts that are shown
// Adds the table `id` with the `parts` that took the most time. `what`: the heading of their names. `drawn`: the latencies are
// drawn, and all parts are shown.
void add_hot_table(HtmlPage& page, const std::string& id, const char* caption, const char* what, std::vector<HotPart> parts,
                   bool drawn = false);

// Adds sections that describe a model: classes of processes with their operations, and who starts whom and waits for whom. They
// also say how much runs of the load differ.
void add_model_sections(HtmlPage& page, const LoadModel& model);

}  // namespace fsr::fstrace
