// SPDX-License-Identifier: Apache-2.0
// Sums up for how long this process stood still (heartbeat.hpp) while programs ran in it. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace fsr {

constexpr double kMostStoodStill = 0.05;  // share of a run's time; with more, the run is not clean
constexpr double kMostStolen =
    0.25;  // share of the processors' time; with more, a run is not clean; busy hosts always take a few percent
constexpr double kNotableSteal = 0.05;  // share of the processors' time from which on the report mentions steal

// Returns "the load generator itself stood still for 2.0 s: stopped, or its processor was taken away".
std::string stood_still_text(int64_t ns);
// True: the host took more than `share` of the processors' time, each of which lost `stolen` ns of `elapsed`. False if that is
// too little to be sure of, because the kernel counts in ticks (proc_stat(5)).
bool steals(int64_t stolen, int64_t elapsed, double share);
// Returns "the host of this virtual machine took 12 % of its processors' time away (steal)".
std::string stolen_text(int64_t stolen, int64_t elapsed);

// Adds a run of `lasted` ns, in which no thread ran for `stood` ns.
void add_stood_still(int64_t stood, int64_t lasted);

// Collect the sums of several ranks at the root. taken_stood_still() returns the sums of a rank and resets them. The root passes
// them to stood_still_of_rank(), which keeps them if their share is larger than that of its own.
std::string taken_stood_still();
void stood_still_of_rank(const std::string& saved, const std::string& rank);

// Prints a line on stderr if the process stood still. Returns 1 if `status` is 0 and the share is too large, otherwise `status`.
int print_stood_still(const char* program, int status);

}  // namespace fsr
