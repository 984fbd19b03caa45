// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/bonnie_run.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "threads/sim_context.hpp"

namespace fsr::bonnie {

namespace {

constexpr std::array<const char*, kPhases> kWords = {
    "Writing a byte at a time...",         "Writing intelligently...",          "Rewriting...",
    "Reading a byte at a time...",         "Reading intelligently...",          "start 'em...",
    "Create files in sequential order...", "Stat files in sequential order...", "Delete files in sequential order...",
    "Create files in random order...",     "Stat files in random order...",     "Delete files in random order...",
};

const char* words(Phase phase, bool old) {
  if (old && phase == kByteWrite) return "Writing with putc()...";
  if (old && phase == kByteRead) return "Reading with getc()...";
  return kWords[phase];
}

}  // namespace

Task BonnieRun::begin(SimContext& sim, Phase phase) {
  if (meet) {
    std::string why;
    co_await sim.blocking([&] { why = meet(phase); });
    if (!why.empty()) {
      wrong(why);
      co_return ECANCELED;
    }
  }
  if (print_progress) print_progress(words(phase, old_words));
  co_return 0;
}

void BonnieRun::end(Phase phase, const Measured& measured) {
  results[phase] = measured;
  if (print_progress) print_progress(phase < kSeeks ? "done\n" : phase == kSeeks ? "\n" : "done.\n");
}

void BonnieRun::wrong(const std::string& what) {
  std::lock_guard lock(mutex_);
  if (failure.empty()) failure = what;
}

void BonnieRun::cleans_up() {
  if (print_progress) print_progress("\nCleaning up test directory after error.\n");
}

int BonnieRun::fail(Phase phase, const std::string& what, int error) {
  wrong(fmt::format("{}: {}: {}", kPhaseNames[phase], what, strerror(error)));
  return error;
}

}  // namespace fsr::bonnie
