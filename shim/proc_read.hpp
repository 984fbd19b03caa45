// SPDX-License-Identifier: Apache-2.0
// The only place where a capture reads what /proc says of other processes.
//
// Nothing here ever waits for another process. A process may itself be waiting for an answer of this capture while it holds locks
// of its own: execve(2) holds the exec lock (signal->exec_update_lock) while it closes files marked close-on-exec, each with a
// FLUSH that it waits for, and a page fault holds the memory lock (mm->mmap_lock) while the page is read. What takes one of them
// in /proc (stat, exe, cwd, root, fd/, maps, environ, ns/, ...) is read by child processes only that nobody waits for
// (StartTimes, processes_below). tests/integration/project/source_checks.py holds other files to that; docs/design.md says why
// the files below are safe.
//
// Any thread may call these.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fsr::shim {

// What a thread's status told at one moment.
struct ThreadStatus {
  char name[16] = "";  // as after an exec or prctl(PR_SET_NAME)
  pid_t pid = 0, ppid = 0;
  uid_t uid[4] = {};  // real, effective, saved, of file access
  gid_t gid[4] = {};
  uint64_t bounding = 0;                              // of its capabilities
  uint64_t signals_pending = 0, signals_blocked = 0;  // of the thread and its process; bit 0 is signal 1
  std::vector<gid_t> groups;                          // supplementary
  uint64_t instance = 0;                              // equal to that of another status: surely of the same thread
};

// Of the thread that has this id now. False: there is none. The file stays open for a while, so that it is opened once for many
// calls, and means the same thread each time.
bool read_status(pid_t tid, ThreadStatus& status);
// Fields that the text lacks stay as they are. `instance` is left alone.
void parse_status(std::string_view text, ThreadStatus& status);

// Files of /proc/PID/ that take neither lock.
enum class ProcFile { comm, mountinfo, uid_map, gid_map };
// `process`: an id or "self". Empty: the process is gone.
std::string read_proc(const std::string& process, ProcFile file);

// Ids of all processes, in ascending order.
std::vector<pid_t> process_ids();

}  // namespace fsr::shim
