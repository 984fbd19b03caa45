// SPDX-License-Identifier: Apache-2.0
// Places in which the processes of nhfsstone work. A test directory "testdir<n>" may be a symbolic link to a directory elsewhere,
// for example on another disk of the server. No state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fsr {
class Clock;
}

namespace fsr::fsbench {

// A target, and the processes that work in it.
struct StonePlace {
  std::string target;              // directory or URL
  std::vector<unsigned> numbers;   // numbers of the processes
  std::vector<std::string> names;  // their test directories in the target's root
};

// Returns the places of `processes` processes. Process n uses target n modulo the number of `targets`. It works in testdir<n>
// there, or in the directory to which this name links. On a server that a URL names, a link's text is a path of the server.
// Throws std::runtime_error, one line, if a link leads to no directory, or two processes would work in one directory.
std::vector<StonePlace> stone_places(const std::vector<std::string>& targets, unsigned processes, Clock& clock);

// Returns the path of a directory that was given as such or as file:DIR.
std::string path_of(const std::string& location);

// Returns the device of a directory. 0: it is no directory.
uint64_t device_of(const std::string& location);

}  // namespace fsr::fsbench
