// SPDX-License-Identifier: Apache-2.0
// fsshim check DIR: what a capture of it will be like, before there is one.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backing.hpp"
#include "call_cost.hpp"
#include "capture_error.hpp"
#include "captured_directory.hpp"
#include "fuse_session.hpp"
#include "mount.hpp"
#include "own_groups.hpp"
#include "subcommands.hpp"
#include "unseen_processes.hpp"
#include "util/unique_fd.hpp"
#include "util/units.hpp"
#include "witness/hooks.hpp"

namespace fsr::shim {

namespace {

// Requests that FUSE refuses in kernels older than these (docs/kernels.md).
constexpr struct {
  unsigned major, minor;
  const char* what;
} kRefused[] = {
    {6, 2, "O_TMPFILE: EOPNOTSUPP"},
    {6, 6, "shared mappings (MAP_SHARED), but for files named *-shm: ENODEV"},
    {6, 6, "times of birth: not reported"},
};
constexpr const char* kRefusedAlways = "FIEMAP, FICLONE, RWF_NOWAIT, fallocate COLLAPSE_RANGE and INSERT_RANGE: EOPNOTSUPP";

void line(const char* heading, const std::string& text) { printf("%-14s%s\n", heading, escape_text(text).c_str()); }

std::string difference(int64_t plain, int64_t captured) {
  return format_duration(captured) + " in a capture, " + format_duration(std::max<int64_t>(0, captured - plain)) + " more";
}

// Adds to the reason why io_uring is not used what to do, if the kernel supports it.
std::string explained(const std::string& problem) {
  const bool old_library = problem.find("requires libfuse") != problem.npos;
  const bool kernel_can = access("/sys/module/fuse/parameters/enable_uring", F_OK) == 0;
  return problem + (old_library && kernel_can ? "; an fsshim built with -Dlibfuse=bundled has this libfuse" : "");
}

void print_cost(const CallCost& plain, const CapturedCost& captured, const CapturedCost* uring) {
  line("transport", captured.transport);
  line("cost", "stat(2) takes " + format_duration(plain.asleep) + " without a capture, and " +
                   difference(plain.asleep, captured.cost.asleep));
  const char* heading = "otherwise";
  auto otherwise = [&](const std::string& text) {
    line(heading, text);
    heading = "";
  };
  if (captured.cost.awake >= 0)
    otherwise("if processors do not sleep: " + difference(plain.awake, captured.cost.awake) +
              " (while a program holds /dev/cpu_dma_latency open after writing 0)");
  if (uring) otherwise("with --transport uring: " + difference(plain.asleep, uring->cost.asleep));
  if (const std::string problem = uring_problem(); !problem.empty()) otherwise(explained(problem));
}

// The other way of capture, by --via kernel.
void print_kernel_hooks() {
  const std::string problem = witness_problem();
  line("via kernel", problem.empty() ? "possible (--via kernel): costs less, changes nothing for applications; not recorded: "
                                       "content, most loads and stores of mappings"
                                     : "not possible: " + problem);
}

void print_refused() {
  utsname system{};
  unsigned major = 0, minor = 0;
  uname(&system);
  sscanf(system.release, "%u.%u", &major, &minor);
  const char* heading = "refused";
  for (const auto& refused : kRefused)
    if (std::pair(major, minor) < std::pair(refused.major, refused.minor)) {
      line(heading, std::string(refused.what) + " (Linux " + system.release + ")");
      heading = "";
    }
  line(heading, kRefusedAlways);
}

// The reason why a capture with default options would not start beside these processes. Empty: it would.
std::string why_not_started(const std::string& directory, const std::vector<std::string>& mapping) {
  if (mapping.empty()) return {};
  const UniqueFd root(open_directory(directory));
  const std::optional<MountEntry> mount = mount_of(root.get());
  const std::string type = mount ? mount->type : "";
  std::string why;
  choose_mappings({}, type, &why);
  return why.empty() ? mapping_problem_inside(directory, type) : mapping_problem(mapping, why);
}

void print_unseen(const UnseenProcesses& holders) {
  const char* heading = "not seen";
  for (const std::string& process : holders.processes) {
    line(heading, process + ", which holds files below the directory already");
    heading = "";
  }
  for (const std::string& process : holders.not_looked_at) {
    line(heading, process + ", which does not answer and may hold files below the directory");
    heading = "";
  }
  if (*heading) line(heading, "nothing: no process holds files below the directory");
}

}  // namespace

int run_check(const std::string& directory, bool calls_only) {
  if (calls_only) {
    const CallCost cost = time_calls(directory);
    printf("%lld %lld\n", static_cast<long long>(cost.asleep), static_cast<long long>(cost.awake));
    return 0;
  }
  const std::string path = absolute_directory(directory);
  const UnseenProcesses holders = processes_below(path);
  const CapturedCost captured = time_captured_calls(path, "auto");
  std::unique_ptr<CapturedCost> uring;
  if (uring_problem().empty() && !captured.transport.starts_with("io_uring"))
    uring = std::make_unique<CapturedCost>(time_captured_calls(path, "uring"));
  print_cost(time_calls(path), captured, uring.get());
  if (const std::string limits = limits_without_root(); !limits.empty()) line("not changed", limits);
  print_kernel_hooks();
  print_refused();
  if (const std::string problem = why_not_started(path, holders.mapping); !problem.empty()) line("not started", problem);
  print_unseen(holders);
  return 0;
}

}  // namespace fsr::shim
