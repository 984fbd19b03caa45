// SPDX-License-Identifier: Apache-2.0
#include "base/payload.hpp"

#include <algorithm>
#include <cstring>

namespace fsr {

static uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

Payload::Payload() : bytes_(new char[kPeriod + kDirect]) {
  for (size_t i = 0; i < kPeriod; i += 8) {
    uint64_t word = mix(i);
    memcpy(&bytes_[i], &word, std::min<size_t>(8, kPeriod - i));
  }
  memcpy(&bytes_[kPeriod], &bytes_[0], kDirect);
}

const Payload& Payload::shared() {
  static const Payload payload;
  return payload;
}

std::string_view Payload::get(ObjectId object, uint64_t offset, size_t length) const {
  return {&bytes_[(mix(object) % kPeriod + offset % kPeriod) % kPeriod], length};
}

std::string_view Payload::get(ObjectId object, uint64_t offset, size_t length, std::string& scratch) const {
  if (length <= kDirect) return get(object, offset, length);
  uint64_t at = mix(object) % kPeriod + offset % kPeriod;
  scratch.resize(length);
  for (size_t done = 0; done < length;) {
    size_t n = std::min(length - done, kDirect);
    memcpy(&scratch[done], &bytes_[(at + done) % kPeriod], n);
    done += n;
  }
  return scratch;
}

}  // namespace fsr
