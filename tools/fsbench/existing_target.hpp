// SPDX-License-Identifier: Apache-2.0
// Opens the location of a program: an existing directory, or any target by its URL.
#pragma once

#include <memory>
#include <string>

namespace fsr {
class Clock;
class Target;
}  // namespace fsr

namespace fsr::fsbench {

// Unlike file:, does not make a missing directory, which is an error. Throws std::runtime_error.
std::unique_ptr<Target> open_existing(const std::string& location, Clock& clock);

// Returns the target that names files by paths: absolute ones, or relative ones of a program that changes its directory to
// `location`. Targets other than directories, and those with an option, stay as they are.
std::string by_path(const std::string& location, bool relative);

// Returns the client and the cache between a program and its target, in words.
std::string way_to(const std::string& target);

}  // namespace fsr::fsbench
