// SPDX-License-Identifier: Apache-2.0
// The only file of a capture that reads about other processes in /proc.
//
// The functions never wait for another process. A process may be waiting for an answer of this capture while it holds locks of
// its own. An execve(2) holds the exec lock (signal->exec_update_lock) while it closes files marked close-on-exec, and waits for
// the FLUSH of each. A page fault holds the memory lock (mm->mmap_lock) while the page is read. Some files in /proc take one of
// these locks (stat, exe, cwd, root, fd/, maps, environ, ns/, ...). Only child processes read them, and this process never waits
// for those (StartTimes, processes_below). tests/integration/project/source_checks.py holds other files to that; docs/design.md
// says why the files below are safe.
//
// Any thread may call these.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fsr::shim {

// The status of a thread at one moment.
struct ThreadStatus {
  char name[16] = "";  // as after an exec or prctl(PR_SET_NAME)
  pid_t pid = 0, ppid = 0;
  uid_t uid[4] = {};  // real, effective, saved, file system
  gid_t gid[4] = {};
  uint64_t bounding = 0;                              // bounding set of its capabilities
  uint64_t signals_pending = 0, signals_blocked = 0;  // signals of the thread and its process; bit 0 is signal 1
  std::vector<gid_t> groups;                          // supplementary groups
  uint64_t instance = 0;                              // two statuses with the same value are surely of one thread
};

// Reads the status of thread `tid`. False: there is no such thread. The file stays open for a while, so that one open serves many
// calls, all for the same thread.
bool read_status(pid_t tid, ThreadStatus& status);
// Sets the members that `text` has, except `instance`.
void parse_status(std::string_view text, ThreadStatus& status);

// Files of /proc/PID/ that take neither lock.
enum class ProcFile { comm, mountinfo, uid_map, gid_map };
// Reads a file of /proc/PID/. `process`: an id or "self". Empty: the process has exited.
std::string read_proc(const std::string& process, ProcFile file);

// Returns the ids of all processes, in ascending order.
std::vector<pid_t> process_ids();

}  // namespace fsr::shim
