// SPDX-License-Identifier: Apache-2.0
// Writes the messages of a process without a terminal (stdout and stderr) to a file, by a thread of its own. So a thread that
// prints a message never waits for the file's disk, which may be the disk that the message is about.
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
