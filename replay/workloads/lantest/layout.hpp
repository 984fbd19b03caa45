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
// What follows the table: the means of all commands.
std::string aggregates(const Settings& settings, const Results& results);
// One session: table and aggregates. Several: a table of each and one of all.
std::string tables(const Settings& settings, const Sessions& sessions);
// The same; names of tests have commas in them and stand in no quotes, so that fields count from the end. Of several sessions, a
// first column tells which, or "all".
std::string csv(const Settings& settings, const Sessions& sessions);

// What the original does not tell: of each test the time and what it took of processors here and in the server, and how long each
// kind of command took.
std::string latencies(const Settings& settings, const Results& results);

// All of it, and more digits: the rate of a row is that of whole runs of the test. Of several sessions, the rows are those of all
// together, and "sessions" has those of each.
nlohmann::json json(const Settings& settings, const Sessions& sessions);

}  // namespace fsr::lantest
