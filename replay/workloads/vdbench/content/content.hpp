// SPDX-License-Identifier: Apache-2.0
// The content of writes, if parameters define it: the number of equal units, the ratio of compression, or a pattern from a file.
//
// Each 4 KiB of a unit is random bytes and zeros, in the proportion of compratio=. The seed of the random bytes is used once, or
// it is that of a set, whose units are all equal. Which units are of sets follows from their number alone (multiples of the
// golden ratio, which are spread evenly: Knuth, TAOCP 3, 6.4), so that the ratio stays what it is when units are written again.
// Hot sets are units at the beginning. A set that flips has two contents, and each write of the beginning of one of its units
// leaves the other than before there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/page_buffer.hpp"
#include "workloads/random.hpp"
#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

// The content of one SD, or of the files of one anchor. Constant once made.
class Content {
 public:
  // `owner`: its name; sets of different ones have nothing in common. `size`: bytes of all of it. Throws std::runtime_error where
  // the sets would be more than what dedupratio= leaves.
  Content(const ContentSettings& settings, const std::string& owner, uint64_t size);

  uint64_t unit() const { return unit_; }
  static uint64_t unit_of(const ContentSettings& settings);
  // The seed of a unit that is written now, its beginning or the rest: its set's, or one that is drawn. Any thread.
  uint64_t seed_of(uint64_t number, bool begins, Random& once) const;
  // Bytes of a unit from there on.
  void fill(char* to, uint64_t from, uint64_t length, uint64_t seed) const;
  const std::string* pattern() const { return pattern_.get(); }  // or null

 private:
  const std::shared_ptr<const std::string> pattern_;
  const double random_share_;  // of each 4 KiB
  const uint64_t unit_, owner_;
  uint64_t sets_ = 0;  // number of sets that are not hot; 0: all units are different
  double once_share_ = 1;
  struct HotSets {
    uint64_t end, first_set, sets;  // units up to there are of these
  };
  std::vector<HotSets> hot_;
  const ContentSettings::Flips flips_;
  uint64_t units_ = 0;
  std::unique_ptr<std::atomic<bool>[]> flipped_;  // by unit; where sets flip
};

// The memory in which one thread puts together what it writes: begins at a page, as devices want it.
class ContentWriter {
 public:
  // `number`: of the thread, among all of the run.
  explicit ContentWriter(uint64_t number);
  // `length` bytes for the offset of an SD, or of a file that begins at that place (a multiple of units) of the row of all files;
  // valid until the next call.
  std::string_view get(const Content& content, uint64_t offset, uint64_t length, uint64_t place = 0);

 private:
  char* room(uint64_t length);

  Random once_;
  PageBuffer buffer_;
};

}  // namespace fsr::vdbench
