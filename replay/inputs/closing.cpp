// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <atomic>
#include <stdexcept>

#include "engine/run.hpp"
#include "inputs/input.hpp"
#include "op_source.hpp"
#include "util/units.hpp"

namespace fsr {

std::string close_input(Input& input, Target& target, Clock& clock, const RunOptions& of) {
  std::unique_ptr<OpSource> closing = input.closing();
  if (!closing || (of.stop && of.stop->load())) return "";
  try {
    const RunOptions plain{.timing = Timing::asap, .workers = of.workers, .stop = of.stop};
    const uint64_t failed = run(*closing, target, clock, plain).differed();
    return failed ? fmt::format("{} open files could not be closed after the run", format_count(failed)) : "";
  } catch (const std::runtime_error& e) {
    return fmt::format("nothing was closed after the run: {}", e.what());
  }
}

}  // namespace fsr
