// SPDX-License-Identifier: Apache-2.0
// Optional interface of a session (FileSession has it): performs requests of single bytes as fast as a program that makes a
// system call for each byte. Through TargetSession::submit(), a cached byte would take one and a half times as long.
#pragma once

#include <cstdint>

namespace fsr {

struct TargetRequest;

class Bytewise {
 public:
  // Reads or writes request.op->length bytes from op->offset on, one byte after the other, within the call. Returns the number of
  // bytes transferred before the first failure. Use submit() for the byte that failed: it returns the error. Read data is
  // dropped. Call this on the session's thread; it may block.
  virtual uint64_t by_bytes(const TargetRequest& request) = 0;

 protected:
  ~Bytewise() = default;
};

}  // namespace fsr
