// SPDX-License-Identifier: Apache-2.0
// The text that afp_lantest 4.5.1 prints, byte by byte where the numbers are the same.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "workloads/lantest/results.hpp"
#include "workloads/lantest/settings.hpp"

namespace fsr::lantest {

// A test has ended; `iteration` counts from 1. With `calls` a second line tells what the server's processes did.
std::string run_line(const Settings& settings, unsigned iteration, unsigned test, const Measures& measures, bool calls);
// Blank line and heading over the results of all iterations.
std::string heading(const Settings& settings);
// Means and deviations of the chosen tests, and their sums.
std::string table(const Settings& settings, const Results& results);
// The lines behind the table: the means of all commands.
std::string aggregates(const Settings& settings, const Results& results);
// One session: table and aggregates. Several: a table of each and one of all.
std::string tables(const Settings& settings, const Sessions& sessions);
// The same as CSV. Names of tests contain commas and are not quoted, so fields count from the end. With several sessions, the
// first column is the session, or "all".
std::string csv(const Settings& settings, const Sessions& sessions);

// Details that the original does not print. Each test has its time, the CPU time here and in the server, and the latencies of
// each kind of command.
std::string latencies(const Settings& settings, const Results& results);

// All results, with more digits. The rate of a row is that of complete runs of the test. With several sessions, the rows are
// those of all together, and "sessions" has the rows of each.
nlohmann::json json(const Settings& settings, const Sessions& sessions);

}  // namespace fsr::lantest
