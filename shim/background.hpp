// SPDX-License-Identifier: Apache-2.0
// A capture that goes on without the terminal it was started from, and a service manager's view of it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "message_log.hpp"
#include "output.hpp"

namespace fsr::shim {

// Made before threads, files and other children: forks, and returns in the child. The parent prints what the child reports and
// ends with status 0 once ready() was called, else, when the child has ended, with the child's. Until ready() messages of the
// child go where the parent's go. Throws CaptureError.
class Background {
 public:
  Background();
  ~Background();
  // Lets the parent go; from now on messages go to the log of `output`, and no directory is held but those captured and written.
  void ready(const std::string& directory, const CaptureOutput& output);

 private:
  int report_fd_ = -1;
  std::unique_ptr<MessageLog> messages_;
};

// Sends `state` to systemd (sd_notify(3), Type=notify), or to another owner of $NOTIFY_SOCKET. Without that variable it does
// nothing.
void notify_service_manager(const std::string& state);

}  // namespace fsr::shim
