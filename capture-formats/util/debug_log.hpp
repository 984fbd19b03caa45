// SPDX-License-Identifier: Apache-2.0
// Debug lines, which help to find a defect. They are off unless FSR_LOG in the environment or --debug asks for an area.
//
//   FSR_LOG=wire:debug,plan:info      areas: wire, plan, shim; levels: info (rare events), debug (each request)
//
// A caller asks first, so that a line that is off costs one load and one branch:
//
//   if (logs(LogArea::wire, LogLevel::debug)) log_line(LogArea::wire, fmt::format(...));
//
// log_line() never waits: a thread of its own writes to stderr, and lines that find kMostLogLines unwritten are counted and left
// out. The last lines are kept for check.hpp. Thread-safe; a forked process has a thread of its own. Exits by _exit(2) lose the
// lines that are not yet written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fsr {

enum class LogArea : uint8_t {
  wire,  // requests and replies of network targets, and their connections
  plan,  // what operations of a replay wait for
  shim,  // requests to a capture and their outcome
};
constexpr unsigned kLogAreas = 3;
enum class LogLevel : uint8_t { off, info, debug };

constexpr size_t kMostLogLines = 1 << 16;  // unwritten at a time, some 10 MiB

inline std::atomic<LogLevel> log_levels[kLogAreas];

inline bool logs(LogArea area, LogLevel level) {
  return __builtin_expect(log_levels[unsigned(area)].load(std::memory_order_relaxed) >= level, 0);
}

// Sets levels from a list such as "wire,plan:info". An area without a level gets `debug`. Throws std::invalid_argument, one line.
void set_log_levels(std::string_view list);
// Takes the list of the environment variable FSR_LOG, if there is one. Throws as set_log_levels() does.
void set_log_levels_from_environment();

void log_line(LogArea area, std::string_view text);
// Waits until the lines are written, for a second at most.
void flush_log();
// The last lines, oldest first, each with its newline.
std::string last_log_lines();

}  // namespace fsr
