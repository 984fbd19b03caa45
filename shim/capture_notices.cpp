// SPDX-License-Identifier: Apache-2.0
#include "capture_notices.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "abort.hpp"
#include "process_limits.hpp"
#include "unread_programs.hpp"
#include "util/clock_ns.hpp"
#include "util/units.hpp"

namespace fsr::shim {

bool CaptureNotices::first(Cause cause) {
  const bool noted = noted_[cause];
  noted_.set(cause);
  return !noted;
}

std::vector<std::string> CaptureNotices::look(bool trace_closed, int64_t now) {
  // The kernel may reuse the connection's number from now on.
  if (session_.ended() && first(kEnded)) setup_.control.set_field("connection", "");
  std::vector<std::string> lines = stalls_.look(coarse_now());
  if (setup_.options.abort_stalled && stalls_.own_fault() && first(kAborted)) {
    const ReservedDescriptors reserved;
    const int error = abort_connection(mount_.connection());
    lines.push_back(error == 0 ? "FUSE connection aborted: applications get errors instead of waiting"
                               : std::string("FUSE connection not aborted: ") + strerror(error));
  }
  if (const int error = shim_.backings.refused(); error != 0 && first(kMappingsRefused))
    lines.push_back(std::string("mappings of some files do not show what processes outside the capture write, because the kernel "
                                "refuses FUSE passthrough: ") +
                    strerror(error));
  if (shim_.page_bases.missing() != 0 && first(kBasesMissing))
    lines.push_back(
        "more than " + format_size(setup_.page_bases) +
        " of pages are mapped, so fsshim writes the oldest as whole pages: what others wrote to these pages may be lost");
  if (g_unread_program_ran && first(kUnreadProgram))
    lines.push_back(
        "a user executed a program that the user may not read, and can read the running program in /proc/PID/mem; "
        "--permissions kernel prevents that");
  const PageDrops* drops = mount_.page_drops();
  if (drops && drops->used() && first(kPageFills))
    lines.push_back(
        "sendfile or splice is in use: either may send bytes that were replaced milliseconds ago; only reads that fill pages "
        "are recorded");
  if (drops && drops->lost() && first(kDropsLost))
    lines.push_back(
        "pages that sendfile and splice read may stay cached from now on, because the process that drops them ended, was "
        "stopped or waits for reads of many files");
  if (shim_.strangers.came() && first(kStranger))
    lines.push_back(
        "a process outside this pid namespace used " + setup_.directory() +
        ", whose groups and capabilities can't be known; start fsshim where all processes that use the directory are "
        "seen: in Kubernetes with hostPID or shareProcessNamespace, in Docker with --pid host or --pid container:NAME");
  mount_.start_times().take([this](pid_t tid, uint64_t ticks) { shim_.processes.started(tid, ticks); });
  shim_.processes.forget_ended(now);
  if (trace_closed) return lines;
  // Dates in the trace are its start plus CLOCK_MONOTONIC, which can't be set and does not count a suspension.
  const int64_t off = clock_ns(CLOCK_REALTIME) - (setup_.header.epoch + now);
  if (std::abs(off) > kSecond && first(kClockSet))
    lines.push_back("the clock was set, or the machine suspended: dates of operations in this trace are " +
                    format_duration(std::abs(off)) + (off > 0 ? " early" : " late") + " from now on");
  for (std::string& line : watch_.look(now)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace fsr::shim
