// SPDX-License-Identifier: Apache-2.0
// Everything that is to be said about one run, and the forms in which it is said: text for people, JSON, a database.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/prepare.hpp"
#include "engine/run.hpp"
#include "plan/image.hpp"
#include "report/requirement.hpp"
#include "report/section.hpp"
#include "report/time_series.hpp"
#include "util/environment.hpp"

namespace fsr {

class ResultsDatabase;

struct Report {
  std::string input, target;
  int64_t started = 0;           // wall clock, ns since the Unix epoch
  std::string label;             // the user's own words
  std::string program, command;  // with version and commit; the whole command line
  std::string target_mount;      // what a directory lies on
  Environment environment;
  std::string acting_as = "self";  // --uid
  std::vector<Requirement> requirements;
  std::array<bool, kOpKinds> allowed{};  // kinds of which operations may be left out, as the target can't express them
  const char* expected = "recorded";     // the outcomes that are right are as "recorded", or as "expected" of what was made up
  const char *issued = "operations", *planned = "of the trace";  // what is issued, and what there is of it to issue
  uint64_t whole = 0;    // how many of those there are; 0: not known, as many as there is time for
  uint64_t streams = 0;  // and of how many streams; 0: not known
  int64_t span = 0;      // how long they are to take, ns; 0: not known
  RunOptions options;
  ImageSummary image;
  PrepareResult prepared;
  bool interrupted = false;  // by a signal; --duration is no interruption
  std::string aftermath;     // what went wrong after the run, one line
  RunResult result;
  TimeSeries series;
  std::vector<std::pair<std::string, uint64_t>> counters;  // the target's
  std::vector<std::shared_ptr<const ReportSection>> sections;
};

const char* timing_name(Timing timing);
const char* order_name(Order order);

constexpr int kRequirementMissed = 3, kInexpressible = 4;  // exit statuses

struct Verdict {
  int status = 0;                    // exit status: 0, 1, 3 or 4
  std::vector<std::string> reasons;  // why not 0, one line each
  std::vector<std::string> missed;   // of the requirements, one line each
};
// Status 3 where a requirement is missed, otherwise 1 for: any outcome that differed, operations skipped, left under way or never
// read, violations, a failed image, an interrupted run, trouble after it, what a section says. Status 4 where all that is wrong
// is that the target can't express some operations, with what follows.
Verdict verdict(const Report& report);
// The exit status where two runs or steps ended with these: 0, 4, 1, 2, 3 in the order of their weight.
int worse_status(int a, int b);

std::string report_text(const Report& report);
// One document, ends in a newline. `runs`: all of them where there were several, `report` being the last.
std::string report_json(const Report& report, const std::vector<Report>& runs = {});
// A run of its own, committed. Throws std::runtime_error, also where only the totals could be kept.
void report_database(const Report& report, ResultsDatabase& db);

}  // namespace fsr
