// SPDX-License-Identifier: Apache-2.0
#include "lantest_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "existing_target.hpp"
#include "lantest_database.hpp"
#include "personality.hpp"
#include "trace/bytes.hpp"
#include "workloads/lantest/layout.hpp"

namespace fsr::fsbench {

using namespace lantest;

std::string SessionEnd::save() const {
  ByteWriter out;
  results.save(out, ahead);
  out.text(failure);
  out.text(directory);
  out.u8(made);
  out.u8(removed);
  out.svarint(original_status);
  return std::string(out.view());
}

SessionEnd SessionEnd::load(std::string_view saved) {
  ByteReader in(saved);
  SessionEnd end;
  end.results = Results::load(in);
  end.failure = in.text();
  end.directory = in.text();
  end.made = in.u8() != 0;
  end.removed = in.u8() != 0;
  end.original_status = int(in.svarint());
  if (!in.ok() || in.left() != 0) throw std::runtime_error("damaged results from another rank");
  return end;
}

LantestReport::LantestReport(const Options& options, const Settings& settings, int64_t now)
    : options_(options), settings_(settings), started_(now) {
  if (options_.database.empty()) return;
  database_ = std::make_unique<ResultsDatabase>(options_.database);
  origin_ = own_origin("fsbench");
}

void LantestReport::print_text(const std::string& text) const {
  if (options_.json) return;
  fputs(text.c_str(), stdout);
  fflush(stdout);
}

std::string LantestReport::name_of(unsigned session) const {
  return options_.sessions == 1 ? "" : fmt::format("session {}: ", session);
}

void LantestReport::test_ended(unsigned session, unsigned iteration, unsigned test, const Measures& measures, bool calls) const {
  const std::string who = options_.sessions == 1 ? "" : fmt::format("Session {}: ", session);
  print_text(who + run_line(settings_, iteration, test, measures, calls));
}

int LantestReport::ended(const std::vector<SessionEnd>& ends, const std::string& target, bool interrupted, int64_t now) {
  Sessions whole;
  whole.of_one_process = !options_.processes;
  int status = interrupted ? 1 : 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    const SessionEnd& end = ends[i];
    if (end.made && end.removed) print_text(fmt::format("Successfully deleted test directory '{}'\n", end.directory));
    if (end.failure.empty() && end.removed)
      whole.add(unsigned(i + 1), end.results, settings_);
    else if (!status)
      status = options_.compat ? end.original_status : 1;
  }
  if (status) complain(ends, interrupted);
  if (interrupted || whole.each.empty()) return status;
  print(target, whole);
  if (database_) lantest_database(*database_, origin_, target, now - started_, status, settings_, whole);
  return status;
}

void LantestReport::complain(const std::vector<SessionEnd>& ends, bool interrupted) const {
  std::string left;  // names that an interrupted run has left
  for (size_t i = 0; i < ends.size(); ++i) {
    const SessionEnd& end = ends[i];
    std::string why = interrupted ? "" : end.failure;
    if (!end.removed) {
      const std::string behind = fmt::format("the test directory '{}' may be left behind", end.directory);
      if (interrupted) left += "; " + behind;
      why += (why.empty() ? "" : "; ") + behind;
    }
    if (!interrupted && !why.empty()) fmt::print(stderr, "fsbench lantest: {}{}\n", name_of(unsigned(i + 1)), why);
  }
  if (interrupted) fmt::print(stderr, "fsbench lantest: interrupted{}\n", left);
}

void LantestReport::print(const std::string& target, const Sessions& sessions) const {
  if (options_.json) {
    nlohmann::json all = json(settings_, sessions);
    all["target"] = target;
    all["through"] = way_to(target);
    fmt::print("{}\n", all.dump(2));
    return;
  }
  print_text(heading(settings_) + (options_.csv ? csv : tables)(settings_, sessions));
  if (options_.detail) print_text(latencies(settings_, sessions.sum));
}

}  // namespace fsr::fsbench
