// SPDX-License-Identifier: Apache-2.0
// fsbench: runs the workloads of older tools on any target, with the options and the output of these tools.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "cluster/cluster.hpp"
#include "measure/stood_still.hpp"
#include "personality.hpp"
#include "util/standard_streams.hpp"
#include "util/stop_signals.hpp"

namespace fsr::fsbench {

namespace {

// Hides a password from ps(1): overwrites the value of option `letter`, in the same word or the next.
void hide_values(int argc, char** argv, char letter) {
  auto hide = [](char* text) { std::fill(text, text + strlen(text), '*'); };
  for (int i = 0; i < argc; ++i) {
    if (argv[i][0] != '-' || argv[i][1] == '-') continue;
    char* const at = strchr(argv[i], letter);
    if (at && at[1])
      hide(at + 1);
    else if (at && i + 1 < argc)
      hide(argv[i + 1]);
  }
}

int run(int argc, char** argv, const std::atomic<int>& stop) {
  Program program("fsbench", "Runs the workloads of older benchmarks, with their options and their output, on any target.");
  program.common_options();
  program.require_subcommand();
  const Personality* chosen = nullptr;
  Run run_chosen;
  for (const Personality* p : personalities()) {
    Command sub = program.subcommand(p->name, p->what);
    sub.common_options();
    sub.when_chosen([&chosen, &run_chosen, p, run = p->add(sub, stop)] {
      chosen = p;
      run_chosen = run;
    });
  }
  // The words behind "--" are another command, whose options are not parsed here.
  const auto own = std::find(argv, argv + argc, std::string_view("--"));
  const std::vector<std::string> behind(own == argv + argc ? own : own + 1, argv + argc);
  try {
    if (auto status = program.parse(int(own - argv), argv)) return *status;
  } catch (const UsageError& e) {
    fprintf(stderr, "fsbench: %s (--help lists the options)\n", e.what());
    return 2;
  }
  if (chosen->password_option) hide_values(argc, argv, chosen->password_option);
  const std::string whole_name = std::string("fsbench ") + chosen->name;
  try {
    if (!chosen->on_ranks) refuse_launcher();
    return print_stood_still(whole_name.c_str(), run_chosen(behind));
  } catch (const std::exception& e) {
    fprintf(stderr, "%s: %s\n", whole_name.c_str(), e.what());
    return 2;
  }
}

}  // namespace

}  // namespace fsr::fsbench

int main(int argc, char** argv) {
  fsr::occupy_standard_streams();
  fsr::survive_size_limits();
  return fsr::status_of_output("fsbench", fsr::fsbench::run(argc, argv, fsr::count_stop_signals()));
}
