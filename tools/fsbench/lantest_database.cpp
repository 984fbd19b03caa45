// SPDX-License-Identifier: Apache-2.0
#include "lantest_database.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kept_results.hpp"
#include "report/facts.hpp"
#include "report_rows.hpp"
#include "workloads/lantest/layout.hpp"

namespace fsr::fsbench {

using namespace lantest;

namespace {

// `session` 0: all sessions together.
void add_tests(ResultsDatabase& db, unsigned session, const Results& results) {
  for (unsigned test = 0; test < kTests; ++test) {
    int64_t iteration = 0;
    for (const TestRun& r : results.runs[test]) {
      Facts row = {{"test", int64_t(test + 1)},   {"name", std::string(title(test))}, {"iteration", ++iteration},
                   {"session", int64_t(session)}, {"elapsed_ns", r.elapsed},          {"client_cpu_ns", r.cpu}};
      if (results.counts_calls)
        row.insert(row.end(), {{"server_cpu_ns", r.server_cpu + r.ids_cpu},
                               {"afpd_reads", int64_t(r.measures[kServerReads])},
                               {"afpd_writes", int64_t(r.measures[kServerWrites])},
                               {"cnid_dbd_reads", int64_t(r.measures[kIdReads])},
                               {"cnid_dbd_writes", int64_t(r.measures[kIdWrites])}});
      db.add("tests", row);
    }
    for (const auto& [command, times] : results.commands[test]) {
      const std::string who = session ? fmt::format("session {}, ", session) : "";
      Facts row = {{"kind", command}, {"what", fmt::format("{}test {}", who, test + 1)}};
      const Facts numbers = distribution_facts(times);
      row.insert(row.end(), numbers.begin(), numbers.end());
      db.add("distributions", row);
    }
  }
}

}  // namespace

void lantest_database(ResultsDatabase& db, const Facts& origin, const std::string& target, int64_t elapsed, int status,
                      const Settings& settings, const Sessions& sessions) {
  const bool several = sessions.each.size() > 1;
  Facts run = origin;
  run.insert(run.end(), {{"input", fmt::format("lantest{}{}{}", settings.as_operations ? ", as operations" : "",
                                               settings.percent != 100 ? fmt::format(", {} %", settings.percent) : "",
                                               several ? fmt::format(", {} sessions", sessions.each.size()) : "")},
                         {"target", target},
                         {"elapsed_ns", elapsed},
                         {"exit_status", int64_t(status)}});
  db.begin_run(run);
  add_measured(db, rows_of(json(settings, sessions)));
  add_tests(db, 0, sessions.sum);
  for (size_t i = 0; several && i < sessions.each.size(); ++i) add_tests(db, sessions.numbers[i], sessions.each[i]);
  db.commit();
}

}  // namespace fsr::fsbench
