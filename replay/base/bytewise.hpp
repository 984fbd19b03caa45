// SPDX-License-Identifier: Apache-2.0
// What a session may be besides (FileSession is): one that performs requests of single bytes as fast as a program that makes a
// system call for each. Through Session::submit() a byte that is cached would cost half as much again.
#pragma once

#include <cstdint>

namespace fsr {

struct Request;

class Bytewise {
 public:
  // A read or write of request.op->length bytes from op->offset on, each byte a request of its own that ends before the next
  // begins, within the call. Yields how many were transferred before one that was not; what became of that one, submit() tells.
  // What is read is dropped. The session's thread, which may have to wait.
  virtual uint64_t by_bytes(const Request& request) = 0;

 protected:
  ~Bytewise() = default;
};

}  // namespace fsr
