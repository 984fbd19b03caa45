// SPDX-License-Identifier: Apache-2.0
// vdbench's parameter files: whatever they hold, they are understood or refused with a line.
#include <cstdlib>
#include <stdexcept>

#include "workloads/vdbench/language/definitions.hpp"
#include "workloads/vdbench/plan/planned_run.hpp"

using namespace fsr::vdbench;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto open = [](const std::string& name) -> std::string {
    if (name == "inc") return "sd=sd9,lun=/x,size=1m\n";
    throw std::runtime_error(name + ": no such file");
  };
  try {
    StatementReader reader({{"v", "4k"}, {"w", "x,(\""}}, open);
    Mistakes mistakes;
    const Definitions all = define(reader.read({{"input", text}}), mistakes);
    const bool fine = mistakes.count() == 0;
    if (all.runs.empty() && fine) abort();
    uint64_t rounds = 1;  // planning all of them may take any time
    for (const Run& run : all.runs)
      for (const Loop& loop : run.loops) rounds *= loop.numbers.size();
    if (rounds <= 1000 && simulate(plan_runs(all, mistakes)).empty()) abort();
    if (fine) mistakes.check();
  } catch (const ParameterError&) {
  } catch (const std::runtime_error& e) {
    if (std::string_view(e.what()).find(": ") == std::string_view::npos) abort();
  }
  return 0;
}
