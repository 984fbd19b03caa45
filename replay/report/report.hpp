// SPDX-License-Identifier: Apache-2.0
// A report about one run, and its forms: text for people, JSON, a database.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
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
  std::string label;             // text that the user chose
  std::string program, command;  // program with version and commit; complete command line
  std::string target_mount;      // the mount that a target directory lies on
  Environment environment;
  std::string acting_as = "self";  // value of --uid
  std::vector<Requirement> requirements;
  std::array<bool, kOpKinds> allowed{};  // kinds that may be left out because the target can't express them
  const char* expected = "recorded";     // correct outcomes are as "recorded", or as "expected" of generated operations
  const char *issued = "operations", *planned = "of the trace";  // words for messages: "N operations" and "of the trace"
  uint64_t whole = 0;         // number of `issued` that are planned; 0: not known, limited by time only
  uint64_t streams = 0;       // number of their streams; 0: not known
  int64_t span = 0;           // ns that they should take; 0: not known
  int64_t recorded_span = 0;  // ns that they took in the capture; 0: there is none
  RunOptions options;
  ImageSummary image;
  PrepareResult prepared;
  bool interrupted = false;  // true: by a signal; --duration is no interruption
  std::string aftermath;     // what went wrong after the run, one line
  RunResult result;
  TimeSeries series;
  std::vector<std::pair<std::string, uint64_t>> counters;  // counters of the target
  std::vector<std::string> outdated_copies;                // names, see base/link_copies.hpp
  std::vector<std::shared_ptr<const ReportSection>> sections;
};

const char* timing_name(Timing timing);
const char* order_name(Order order);

constexpr int kRequirementMissed = 3, kInexpressible = 4;  // exit statuses

struct Verdict {
  int status = 0;                    // exit status: 0, 1, 3 or 4
  std::vector<std::string> reasons;  // why the status is not 0, one line each
  std::vector<std::string> missed;   // requirements that were missed, one line each
};
// Returns the verdict on a run. Status 3: a requirement is missed. Status 1: an outcome differed. Or operations were refused,
// unanswered, in flight at the end or never issued. Or dependencies were violated, locks were lost, or the image failed. Or the
// run was interrupted, the generator stood still, or something failed after the run. Or a section has a reason. Status 4: the
// only fault is that the target can't express some operations, with the consequences.
Verdict verdict(const Report& report);
// Returns the more serious of two exit statuses. Their order is 0, 4, 1, 2, 3.
int worse_status(int a, int b);

std::string report_text(const Report& report);
// Prints one document, which ends in a newline, piece by piece. `runs`: all runs if there were several; `report` is then the last
// one.
void report_json(const Report& report, const std::vector<Report>& runs, const std::function<void(std::string_view)>& print);
// Adds the run to the database and commits it. Throws std::runtime_error, also if only the totals could be stored.
void report_database(const Report& report, ResultsDatabase& db);

}  // namespace fsr
