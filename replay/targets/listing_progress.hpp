// SPDX-License-Identifier: Apache-2.0
// Checks with each reply whether the listing of a directory makes progress. Otherwise a server that returns to an earlier
// position, or sends the same entries again and again, would be asked without end.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_set>

namespace fsr {

class ListingProgress {
 public:
  void begin() {  // called at the start, and after each seek of the reader
    cookies_.clear();
    replies_.clear();
    reply_ = barren_ = 0;
  }
  void entry(std::string_view name) {
    reply_ = reply_ * 31 + std::hash<std::string_view>()(name);
  }  // adds an entry of the current reply
  // Called at the end of the current reply. False: the listing makes no progress.
  bool gets_on() {
    const bool fresh = replies_.insert(reply_).second;
    reply_ = 0;
    barren_ = fresh ? 0 : barren_ + 1;
    return barren_ <= kMostBarren && replies_.size() < kMostReplies;
  }
  // Variant for protocols in which the server names the next cookie. `asked`: the cookie of the request. False: also if the
  // listing has been at `next` before.
  bool gets_on(uint64_t asked, uint64_t next) {
    cookies_.insert(asked);
    return cookies_.insert(next).second && gets_on();
  }

 private:
  static constexpr unsigned kMostBarren = 16;  // replies in a row that were seen before; names created meanwhile may shift others
  static constexpr size_t kMostReplies = 1u << 20;

  std::unordered_set<uint64_t> cookies_;  // positions that the listing has been at
  std::unordered_set<uint64_t> replies_;  // hashes of the entries of each reply
  uint64_t reply_ = 0;
  unsigned barren_ = 0;
};

}  // namespace fsr
