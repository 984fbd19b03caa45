// SPDX-License-Identifier: Apache-2.0
// Prints the text of afp_lantest 4.5.1; for the same numbers it is the same byte by byte.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "workloads/lantest/results.hpp"
#include "workloads/lantest/settings.hpp"

namespace fsr::lantest {

// Returns the line after a test. `iteration` counts from 1. `calls`: adds a second line on the calls of the server's processes.
std::string run_line(const Settings& settings, unsigned iteration, unsigned test, const Measures& measures, bool calls);
// Returns a blank line and the heading of the results of all iterations.
std::string heading(const Settings& settings);
// Returns means and deviations of the chosen tests, and their sums.
std::string table(const Settings& settings, const Results& results);
// Returns the lines behind the table: the means of all commands.
std::string aggregates(const Settings& settings, const Results& results);
// Returns table and aggregates of one session. With several sessions: a table of each and one of all.
std::string tables(const Settings& settings, const Sessions& sessions);
// Returns the tables as CSV. Names of tests contain commas and are not quoted, so count fields from the end. With several
// sessions, the first column is the session, or "all".
std::string csv(const Settings& settings, const Sessions& sessions);

// Returns details that the original does not print. Each test has its time, the CPU time here and in the server, and the
// latencies of each kind of command.
std::string latencies(const Settings& settings, const Results& results);

// Returns all results, with more digits. The rate of a row counts complete runs of the test only. With several sessions, the rows
// are those of all together, and "sessions" has the rows of each.
nlohmann::json json(const Settings& settings, const Sessions& sessions);

}  // namespace fsr::lantest
