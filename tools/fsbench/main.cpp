// SPDX-License-Identifier: Apache-2.0
// fsbench: runs the workloads of older tools on any target, with the options and the output of these tools.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "cli/vdbench_command.hpp"
#include "cluster/cluster.hpp"
#include "measure/stood_still.hpp"
#include "subcommand.hpp"
#include "util/standard_streams.hpp"
#include "util/stop_signals.hpp"

namespace fsr::fsbench {

namespace {

struct Entry {
  const char* name;
  const char* what;
  Run (*add)(Command&, const std::atomic<int>&);
  bool on_ranks = false;
};

constexpr Entry kPersonalities[] = {
    {"bonnie", "a big file and many small ones, test by test", add_bonnie, true},
    {"compare", "one of these, or fsreplay, on several targets in turn", add_compare},
    {"lantest", "AFP's twelve tests, command by command", add_lantest, true},
    {"nfstest", "files written and read by several processes, runner by stage", add_nfstest, true},
    {"nhfsstone", "a mix of NFS calls, from saved nfsstat output, at a load", add_nhfsstone, true},
    {"postmark", "small files: created, read, appended, deleted", add_postmark, true},
    {"vdbench", "vdbench's parameter files, on devices and on trees of files", add_vdbench, true},
};

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
  Run chosen;
  std::string name;
  bool on_ranks = false;
  for (const Entry& e : kPersonalities) {
    Command sub = program.subcommand(e.name, e.what);
    sub.common_options();
    sub.when_chosen([&chosen, &name, &on_ranks, &e, run = e.add(sub, stop)] {
      chosen = run;
      name = e.name;
      on_ranks = e.on_ranks;
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
  if (name == "lantest") hide_values(argc, argv, 'w');
  try {
    if (!on_ranks) refuse_launcher();
    return print_stood_still(("fsbench " + name).c_str(), chosen(behind));
  } catch (const std::exception& e) {
    fprintf(stderr, "fsbench %s: %s\n", name.c_str(), e.what());
    return 2;
  }
}

}  // namespace

}  // namespace fsr::fsbench

int main(int argc, char** argv) {
  fsr::occupy_standard_streams();
  return fsr::status_of_output("fsbench", fsr::fsbench::run(argc, argv, fsr::count_stop_signals()));
}
