// SPDX-License-Identifier: Apache-2.0
// fsbench: the workloads of older tools, with their options and their output, on any target.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "subcommand.hpp"
#include "util/standard_streams.hpp"

namespace fsr::fsbench {

namespace {

std::atomic<int> stop{0};  // lock-free: set from the handler

struct Entry {
  const char* name;
  const char* what;
  Run (*add)(Command&, const std::atomic<int>&);
};

constexpr Entry kPersonalities[] = {
    {"bonnie", "a big file and many small ones, test by test", add_bonnie},
    {"compare", "one of these, or fsreplay, on several targets in turn", add_compare},
    {"nfstest", "files written and read by several processes, stage by stage", add_nfstest},
    {"nhfsstone", "a mix of NFS calls at a load, as saved nfsstat output has it", add_nhfsstone},
    {"postmark", "small files: created, read, appended, deleted", add_postmark},
    {"vdbench", "vdbench's parameter files, on devices and on trees of files", add_vdbench},
};

int run(int argc, char** argv) {
  Program program("fsbench", "Runs the workloads of older benchmarks, with their options and their output, on any target.");
  program.version_flag();
  program.require_subcommand();
  Run chosen;
  std::string name;
  for (const Entry& e : kPersonalities) {
    Command sub = program.subcommand(e.name, e.what);
    sub.version_flag();
    sub.when_chosen([&chosen, &name, &e, run = e.add(sub, stop)] {
      chosen = run;
      name = e.name;
    });
  }
  // A command of its own, whose options are not ours.
  const auto own = std::find(argv, argv + argc, std::string_view("--"));
  const std::vector<std::string> behind(own == argv + argc ? own : own + 1, argv + argc);
  try {
    if (auto status = program.parse(int(own - argv), argv)) return *status;
  } catch (const UsageError& e) {
    fprintf(stderr, "fsbench: %s (--help lists the options)\n", e.what());
    return 2;
  }
  try {
    return chosen(behind);
  } catch (const std::exception& e) {
    fprintf(stderr, "fsbench %s: %s\n", name.c_str(), e.what());
    return 2;
  }
}

void on_signal(int) { stop.store(stop.load() == 0 ? 1 : 2); }

}  // namespace

}  // namespace fsr::fsbench

int main(int argc, char** argv) {
  fsr::occupy_standard_streams();
  struct sigaction action = {};
  action.sa_handler = fsr::fsbench::on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return fsr::status_of_output("fsbench", fsr::fsbench::run(argc, argv));
}
