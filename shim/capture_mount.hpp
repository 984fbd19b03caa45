// SPDX-License-Identifier: Apache-2.0
// The mount of a capture: over its directory, or in the mount namespace of a command, which waits until go().
//
// Main thread. Its processes are started before any other thread, and before the FUSE device is opened where that matters.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "capture_setup.hpp"
#include "page_drops.hpp"
#include "start_times.hpp"
#include "util/unique_fd.hpp"

namespace fsr::shim {

class CaptureMount {
 public:
  // Mounts the capture. The destructor removes the mount. Throws CaptureError.
  explicit CaptureMount(CaptureSetup& setup);
  CaptureMount(const CaptureMount&) = delete;
  CaptureMount& operator=(const CaptureMount&) = delete;

  int take_fuse_fd() { return fuse_.release(); }  // the caller closes the descriptor
  int proc_fd() const { return proc_.get(); }     // /proc/self/fd
  CapturedCommand* command() const { return command_.get(); }
  PageDrops* page_drops() const { return page_drops_.get(); }  // null: no mapping is one of an underlying file
  StartTimes& start_times() { return start_times_; }
  // Returns the process id of the command, whose mount namespace has the mount. Empty: the mount is in this process's namespace.
  std::string process() const { return command_ ? std::to_string(command_->pid()) : std::string(); }
  uint64_t device() const { return mount_ ? mount_->dev : 0; }  // of the mount; 0: not known
  unsigned connection() const;                                  // its number; 0: not known
  // Adds `flags` (MS_*) to the restrictions of the mount. False: that was not possible.
  bool restrict(unsigned long flags) const;
  // Unmounts, so that new paths lead to the underlying directory. Returns why that is not possible; empty: done.
  std::string detach();

 private:
  // Takes the mount over the directory away when the start fails after it was made.
  class Guard {
   public:
    explicit Guard(const MountPathHandle& way) : way_(way) {}
    ~Guard() { release(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    void made(const OwnMount& mount) { mount_ = mount; }
    std::string release() { return mount_.dev ? take_away(mount_, &way_) : std::string(); }

   private:
    const MountPathHandle& way_;
    OwnMount mount_;
  };

  void mount_over_directory();
  void start_command();

  CaptureSetup& setup_;
  std::unique_ptr<Watcher> watcher_;
  StartTimes start_times_;
  UniqueFd fuse_;
  std::unique_ptr<PageDrops> page_drops_;
  UniqueFd proc_;
  Guard guard_;
  std::unique_ptr<CapturedCommand> command_;
  std::optional<MountEntry> mount_;
};

}  // namespace fsr::shim
