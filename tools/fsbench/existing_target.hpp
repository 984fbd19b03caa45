// SPDX-License-Identifier: Apache-2.0
// Where a program works: a directory that exists, or any target by its URL.
#pragma once

#include <memory>
#include <string>

namespace fsr {
class Clock;
class Target;
}  // namespace fsr

namespace fsr::fsbench {

// A directory is not made, as file: would: one that is missing is a mistake. Throws std::runtime_error.
std::unique_ptr<Target> open_existing(const std::string& location, Clock& clock);

// The client and cache between a program and its target, in words.
std::string way_to(const std::string& target);

}  // namespace fsr::fsbench
