// SPDX-License-Identifier: Apache-2.0
// Messages of a process without a terminal: what it writes to stdout and stderr goes to a file, by a thread of its own. So
// whoever says something never waits for the file's disk, which may be the very one that it complains of.
#pragma once

#include <thread>

namespace fsr::shim {

class MessageLog {
 public:
  // stdin becomes /dev/null, stdout and stderr lead to the log, which stays open here. While its disk does not answer, messages
  // beyond 64 KiB are lost. Throws CaptureError.
  explicit MessageLog(int log_fd);
  ~MessageLog();  // waits until all is written
  MessageLog(const MessageLog&) = delete;
  MessageLog& operator=(const MessageLog&) = delete;

 private:
  std::thread writer_;
};

}  // namespace fsr::shim
