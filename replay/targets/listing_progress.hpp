// SPDX-License-Identifier: Apache-2.0
// Whether a listing gets on in its directory, reply by reply. A server that leads back to where it was, or that sends the same
// entries again and again, would be asked without end.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_set>

namespace fsr {

class ListingProgress {
 public:
  void begin() {  // from the start, or from wherever the reader jumped to
    cookies_.clear();
    replies_.clear();
    reply_ = barren_ = 0;
  }
  void entry(std::string_view name) { reply_ = reply_ * 31 + std::hash<std::string_view>()(name); }  // of the reply at hand
  // The reply at hand ended. False: it leads nowhere.
  bool gets_on() {
    const bool fresh = replies_.insert(reply_).second;
    reply_ = 0;
    barren_ = fresh ? 0 : barren_ + 1;
    return barren_ <= kMostBarren && replies_.size() < kMostReplies;
  }
  // The same where the server says at which cookie to go on; `asked`: the cookie that the reply is for.
  bool gets_on(uint64_t asked, uint64_t next) {
    cookies_.insert(asked);
    return cookies_.insert(next).second && gets_on();
  }

 private:
  static constexpr unsigned kMostBarren = 16;  // in a row: names that are made meanwhile may move others to and fro
  static constexpr size_t kMostReplies = 1u << 20;

  std::unordered_set<uint64_t> cookies_;  // where the listing has been
  std::unordered_set<uint64_t> replies_;  // by what they held
  uint64_t reply_ = 0;
  unsigned barren_ = 0;
};

}  // namespace fsr
