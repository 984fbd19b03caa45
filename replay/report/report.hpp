// SPDX-License-Identifier: Apache-2.0
// Everything that is to be said about one replay, and the forms in which it is said: text for people, JSON, a database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/prepare.hpp"
#include "engine/run.hpp"
#include "plan/image.hpp"
#include "report/curve.hpp"
#include "trace/header.hpp"
#include "trace/reader.hpp"
#include "workloads/mix_result.hpp"

namespace fsr {

class ResultsDatabase;

struct Report {
  std::string input, target;
  int64_t started = 0;  // wall clock, ns since the Unix epoch
  TraceHeader header;
  bool trace_complete = true;  // closing statement there, clean, nothing dropped
  std::string incomplete;      // why not, or what is damaged; one line
  std::vector<TraceDamage> damage;
  std::vector<std::string> warnings;  // one line each
  bool synthesized = false;           // no trace: outcomes are those that the workload expects
  unsigned clones = 1;
  std::string acting_as = "self";  // --uid
  RunOptions options;
  ImageSummary image;
  PrepareResult prepared;
  bool interrupted = false;  // by a signal; --duration is no interruption
  std::string aftermath;     // what went wrong after the run, one line
  RunResult result;
  std::vector<Progress> intervals;
  std::vector<std::pair<std::string, uint64_t>> counters;  // the target's
  std::optional<MixResult> mix;                            // of a synthesized load
  std::vector<CurvePoint> curve;                           // of a ramp of loads: one for each
};

const char* timing_name(Timing timing);
const char* order_name(Order order);

struct Verdict {
  int status = 0;                    // exit status: 0 or 1
  std::vector<std::string> reasons;  // why 1, one line each
};
// Status 1 for: any outcome that differed, operations skipped, left under way or never read, violations, a failed image, a
// damaged or incomplete trace, an interrupted run, trouble after it.
Verdict verdict(const Report& report);

std::string mix_text(const MixResult& mix);  // asked, issued and wire side by side
std::string report_text(const Report& report);
std::string report_json(const Report& report);                    // one document, ends in a newline
void report_database(const Report& report, ResultsDatabase& db);  // and commits it; throws std::runtime_error

}  // namespace fsr
