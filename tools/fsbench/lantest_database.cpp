// SPDX-License-Identifier: Apache-2.0
#include "lantest_database.hpp"

#include <fmt/format.h>

#include "report/facts.hpp"

namespace fsr::fsbench {

using namespace lantest;

void lantest_database(ResultsDatabase& db, const Facts& origin, const std::string& target, int64_t elapsed,
                      const Settings& settings, const Results& results) {
  Facts run = origin;
  run.insert(run.end(), {{"input", std::string(settings.as_operations ? "lantest, as operations" : "lantest")},
                         {"target", target},
                         {"elapsed_ns", elapsed},
                         {"exit_status", int64_t(0)}});
  db.begin_run(run);
  for (unsigned test = 0; test < kTests; ++test) {
    int64_t iteration = 0;
    for (const TestRun& r : results.runs[test]) {
      Facts row = {{"test", int64_t(test + 1)},
                   {"name", std::string(title(test))},
                   {"iteration", ++iteration},
                   {"elapsed_ns", r.elapsed},
                   {"client_cpu_ns", r.cpu}};
      if (results.counts_calls)
        row.insert(row.end(), {{"server_cpu_ns", r.server_cpu},
                               {"afpd_reads", int64_t(r.measures[kServerReads])},
                               {"afpd_writes", int64_t(r.measures[kServerWrites])},
                               {"cnid_dbd_reads", int64_t(r.measures[kIdReads])},
                               {"cnid_dbd_writes", int64_t(r.measures[kIdWrites])}});
      db.add("tests", row);
    }
    for (const auto& [command, times] : results.commands[test]) {
      Facts row = {{"kind", command}, {"what", fmt::format("test {}", test + 1)}};
      const Facts numbers = distribution_facts(times);
      row.insert(row.end(), numbers.begin(), numbers.end());
      db.add("distributions", row);
    }
  }
  db.commit();
}

}  // namespace fsr::fsbench
