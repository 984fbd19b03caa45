// SPDX-License-Identifier: Apache-2.0
// Sums up for how long this process stood still (heartbeat.hpp) while programs ran in it. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace fsr {

constexpr double kMostStoodStill = 0.05;  // share of the time of a clean run
constexpr double kMostStolen = 0.25;      // likewise, of the processors' time: busy hosts take a few percent all the time

// "the load generator itself stood still for 2.0 s: stopped, or its processor was taken away"
std::string stood_still_text(int64_t ns);
// "the host of this virtual machine took 12 % of its processors' time away (steal)"
std::string stolen_text(int64_t stolen, int64_t elapsed);

// Adds a run that lasted `lasted` ns, of which no thread ran for `stood` ns.
void add_stood_still(int64_t stood, int64_t lasted);

// Takes the sums away, for the root of several ranks. The root has them by stood_still_of_rank(), if their share is larger than
// its own.
std::string taken_stood_still();
void stood_still_of_rank(const std::string& saved, const std::string& rank);

// Prints a line on stderr if there is anything to say. Returns `status`, or 1 instead of 0 if the share is too large.
int print_stood_still(const char* program, int status);

}  // namespace fsr
