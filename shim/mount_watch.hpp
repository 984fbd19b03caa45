// SPDX-License-Identifier: Apache-2.0
// Notices file systems that are mounted inside the captured directory during the capture. Mounts on the underlying directory are
// captured like those that were there before; mounts over the capture's own tree are not seen.
//
// look() belongs to one thread; report() may be called by any.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "util/mountinfo.hpp"

namespace fsr::shim {

class MountWatch {
 public:
  struct MountReport {
    std::vector<std::string> below, not_seen;  // as headers of traces name them
  };
  // `command`: process id of a command with a mount namespace of its own, else empty. `restrict`: receives what a new file system
  // below does not allow (MS_NOSUID, MS_NODEV), and what the capture as a whole must not from then on; returns whether that
  // holds.
  MountWatch(std::string directory, std::string command, std::function<bool(unsigned long)> restrict);
  ~MountWatch();
  MountWatch(const MountWatch&) = delete;
  MountWatch& operator=(const MountWatch&) = delete;

  // Returns lines for the user on mounts since the last call. `now`: ns. Makes one system call if there are none. Reads the
  // namespace of a command every kPause only.
  std::vector<std::string> look(int64_t now);
  // Descriptor that has an exceptional condition (POLLPRI) once after each mount or unmount in this process's namespace.
  int changes_fd() const { return changes_fd_; }
  MountReport report() const;

 private:
  static constexpr int64_t kPause = 500'000'000;  // ns

  struct MountTable {
    std::string process;
    bool beneath;                                   // true: shows mounts on the underlying directory
    std::set<std::pair<uint64_t, uint64_t>> known;  // id and device
  };
  void look_at(MountTable& table, std::vector<std::string>* lines);
  void add_line(std::vector<std::string>& report, const std::string& what);

  const std::string directory_;
  const std::function<bool(unsigned long)> restrict_;
  std::vector<MountTable> tables_;
  // Descriptors of mountinfo in this process's namespace; an open one of the command's would keep that namespace alive. The
  // kernel reports a change once to each descriptor: one is for look(), one for changes_fd().
  int looked_fd_, changes_fd_;
  int64_t looked_at_ = 0;
  mutable std::mutex mutex_;
  MountReport report_;
  size_t unnamed_ = 0;
};

}  // namespace fsr::shim
