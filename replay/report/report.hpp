// SPDX-License-Identifier: Apache-2.0
// Everything that is to be said about one run, and the forms in which it is said: text for people, JSON, a database.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/prepare.hpp"
#include "engine/run.hpp"
#include "plan/image.hpp"
#include "report/section.hpp"

namespace fsr {

class ResultsDatabase;

struct Report {
  std::string input, target;
  int64_t started = 0;                // wall clock, ns since the Unix epoch
  std::string acting_as = "self";     // --uid
  const char* expected = "recorded";  // the outcomes that are right are as "recorded", or as "expected" of what was made up
  const char* operations = "operations of the trace";
  uint64_t whole = 0;    // how many of those there are; 0: not known, as many as there is time for
  uint64_t streams = 0;  // and of how many streams; 0: not known
  int64_t span = 0;      // how long they are to take, ns; 0: not known
  RunOptions options;
  ImageSummary image;
  PrepareResult prepared;
  bool interrupted = false;  // by a signal; --duration is no interruption
  std::string aftermath;     // what went wrong after the run, one line
  RunResult result;
  std::vector<Progress> intervals;
  std::vector<std::pair<std::string, uint64_t>> counters;  // the target's
  std::vector<std::shared_ptr<const ReportSection>> sections;
};

const char* timing_name(Timing timing);
const char* order_name(Order order);

struct Verdict {
  int status = 0;                    // exit status: 0 or 1
  std::vector<std::string> reasons;  // why 1, one line each
};
// Status 1 for: any outcome that differed, operations skipped, left under way or never read, violations, a failed image, an
// interrupted run, trouble after it, what a section says.
Verdict verdict(const Report& report);

std::string report_text(const Report& report);
std::string report_json(const Report& report);                    // one document, ends in a newline
void report_database(const Report& report, ResultsDatabase& db);  // and commits it; throws std::runtime_error

}  // namespace fsr
