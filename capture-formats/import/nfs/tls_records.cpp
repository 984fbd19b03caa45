// SPDX-License-Identifier: Apache-2.0
#include "tls_records.hpp"

#include <algorithm>

namespace fsr::capture {

namespace {

constexpr size_t kRecordHead = 5, kLongestRecord = (1 << 14) + 256;  // bytes
constexpr uint8_t kFirstType = 20, kLastType = 23, kMajorVersion = 3, kMostMinor = 4;

// Returns the length of the record behind a head. 0: this is no head.
size_t record_size(std::string_view head) {
  const auto byte = [&](size_t at) { return uint8_t(head[at]); };
  const size_t size = size_t(byte(3)) << 8 | byte(4);
  const bool is_head = byte(0) >= kFirstType && byte(0) <= kLastType && byte(1) == kMajorVersion && byte(2) <= kMostMinor;
  return is_head && size <= kLongestRecord ? size : 0;
}

}  // namespace

void TlsRecords::bytes(std::string_view fresh, bool gap) {
  if (gap) in_step_ = false;
  if (!in_step_) {
    head_.clear();
    body_ = 0;
    in_step_ = true;
  }
  while (!fresh.empty()) {
    const size_t passed = size_t(std::min<uint64_t>(body_, fresh.size()));
    body_ -= passed;
    fresh.remove_prefix(passed);
    const size_t some = std::min(kRecordHead - head_.size(), fresh.size());
    if (body_ > 0 || some == 0) return;
    head_ += fresh.substr(0, some);
    fresh.remove_prefix(some);
    if (head_.size() < kRecordHead) return;
    body_ = record_size(head_);
    head_.clear();
    if (body_ == 0) {  // look again where the next segment begins
      in_step_ = false;
      if (!found()) records_ = 0;
      return;
    }
    ++records_;
  }
}

}  // namespace fsr::capture
