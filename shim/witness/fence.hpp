// SPDX-License-Identifier: Apache-2.0
// The captured directory, mounted over itself with what is mounted inside. The kernel's hooks know captured operations by this
// mount.
//
// Main thread, before others are started.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "../captured_directory.hpp"
#include "../control.hpp"
#include "../mount.hpp"

namespace fsr::shim {

// Makes the mount in a private namespace of this process and its children. Throws CaptureError.
void mount_private_fence(const CapturedDirectory& captured);

// The mount for everybody who opens paths below the directory from now on. If this process dies, a child takes it away.
class Fence {
 public:
  // `log_fd`: for the child's messages; -1: those of this process. Throws CaptureError.
  // `control`: tells other starts of the fence.
  Fence(const CapturedDirectory& captured, int log_fd, ControlServer& control);
  ~Fence() { remove(); }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  // True: somebody else has taken the mount away.
  bool gone() const;
  // Takes the mount away, unless something was mounted on it meanwhile. Open files stay usable. Returns why it is still there;
  // empty: it is gone.
  std::string remove();

 private:
  const MountPathHandle way_;
  Watcher watcher_;
  OwnMount mount_;
  std::set<uint64_t> inside_;  // ids of the mounts that were copied with it
};

}  // namespace fsr::shim
