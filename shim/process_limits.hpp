// SPDX-License-Identifier: Apache-2.0
// Settings that the capturing process changes for itself: signals, umask, limits. Main thread.
#pragma once

#include <cstddef>

#include "command.hpp"
#include "user_shares.hpp"

namespace fsr::shim {

// Blocks signals, clears the umask and raises limits. Returns the former settings, which a captured command gets back.
ProcessSettings leave_surroundings();

// Throws CaptureError if too little memory is permitted: an allocation that fails would end this process, and with it the mount
// that applications use.
void need_memory();

// Prints that the kernel will end this process after some processor time, if it will. `then`: what that means for the capture.
void tell_processor_time_limit(const char* then);

// Protects this process when memory is short. Other processes wait for it to write their data back. Therefore it must not wait
// for that itself, and must not be the first to be killed. Takes effect for threads made from now on; a command has been started
// already. If that is not permitted, it has no effect.
void resist_memory_pressure();

// Descriptors that open files and locks of users may occupy: one user half of them, all users but root three quarters. The rest
// remains for the inode table, for root and for the capture itself.
UserShares::Limits descriptor_limits();

// Descriptors that the inode table may hold: an eighth of the limit of this process.
size_t descriptor_budget();

// Threads for lock requests that wait: one user half of those that this process may have, all users but root three quarters.
UserShares::Limits waiting_limits();

// While it lives, the calling thread may use the descriptors that this process keeps for being controlled and ended. (So may
// other threads in that time.)
class ReservedDescriptors {
 public:
  ReservedDescriptors();
  ~ReservedDescriptors();
  ReservedDescriptors(const ReservedDescriptors&) = delete;
  ReservedDescriptors& operator=(const ReservedDescriptors&) = delete;
};

}  // namespace fsr::shim
