// SPDX-License-Identifier: Apache-2.0
// A capture that goes on without the terminal it was started from, and a service manager's view of it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "message_log.hpp"
#include "output.hpp"

namespace fsr::shim {

// Forks, and returns in the child. Create it before threads, files and other children. The parent ends with status 0 when it has
// printed the line that ready() sends. If the child ends before that, the parent ends with the child's status. Until ready(), the
// child writes to the parent's stdout and stderr. Throws CaptureError.
class Background {
 public:
  Background();
  ~Background();
  // Ends the parent. From now on messages go to the log of `output`. Only the captured directory and that of the output stay in
  // use.
  void ready(const std::string& directory, const CaptureOutput& output);

 private:
  int report_fd_ = -1;
  std::unique_ptr<MessageLog> messages_;
};

// Returns null unless `wanted`. Throws CaptureError if there is a command, for which fsshim waits.
std::unique_ptr<Background> go_to_background(bool wanted, bool command);

// Sends `state` to systemd (sd_notify(3), Type=notify), or to another owner of $NOTIFY_SOCKET. Without that variable it does
// nothing.
void notify_service_manager(const std::string& state);

}  // namespace fsr::shim
