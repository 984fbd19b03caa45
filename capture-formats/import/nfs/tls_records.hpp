// SPDX-License-Identifier: Apache-2.0
// Counts TLS records (RFC 8446, section 5.1) in one direction of a TCP connection, whose content can't be read. Records are found
// where a segment begins with the head of one, and another head follows behind it. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fsr::capture {

class TlsRecords {
 public:
  // Takes the next bytes. `gap`: some before these were lost.
  void bytes(std::string_view fresh, bool gap);
  // True: two records have been seen, one behind the other.
  bool found() const { return records_ > 1; }
  // True: the bytes so far end within a record, or behind one.
  bool in_step() const { return in_step_; }
  uint64_t records() const { return records_; }

 private:
  uint64_t records_ = 0;  // records whose heads were seen
  bool in_step_ = false;
  uint64_t body_ = 0;  // bytes of the present record to come
  std::string head_;   // of the next record, as far as it has come
};

}  // namespace fsr::capture
