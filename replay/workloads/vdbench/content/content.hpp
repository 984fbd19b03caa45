// SPDX-License-Identifier: Apache-2.0
// Generates the content of writes, if parameters define it: the number of equal units, the compression ratio, or a pattern from a
// file.
//
// Each 4 KiB of a unit consists of random bytes and zeros, in the proportion of compratio=. The random bytes come from a seed. It
// is used once, or it belongs to a set, whose units are all equal. The number of a unit decides whether it belongs to a set
// (multiples of the golden ratio, which are spread evenly: Knuth, TAOCP 3, 6.4). So the ratio stays the same when units are
// written again. Hot sets consist of units at the beginning. A set that flips has two contents: each write to the beginning of a
// unit changes the unit to the other one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/page_buffer.hpp"
#include "util/random.hpp"
#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

// Content of one SD, or of the files of one anchor. Constant once made.
class Content {
 public:
  // `owner`: name of the SD or anchor; different owners have different sets. `size`: bytes of all units. Throws
  // std::runtime_error if there are more sets than dedupratio= allows.
  Content(const ContentSettings& settings, const std::string& owner, uint64_t size);

  uint64_t unit() const { return unit_; }
  static uint64_t unit_of(const ContentSettings& settings);
  // Returns the seed for a write to unit `number`: that of its set, or a new one from `once`. `begins`: the write is at the
  // beginning of the unit. Any thread.
  uint64_t seed_of(uint64_t number, bool begins, Random& once) const;
  // Generates `length` bytes of a unit, from offset `from` in it.
  void fill(char* to, uint64_t from, uint64_t length, uint64_t seed) const;
  const std::string* pattern() const { return pattern_.get(); }  // may be null

 private:
  const std::shared_ptr<const std::string> pattern_;
  const double random_share_;  // share of random bytes in each 4 KiB
  uint64_t once_seed(uint64_t number, Random& once) const;

  const uint64_t seed_, unit_, owner_;  // seed_: of compressionseed=, or 0
  uint64_t sets_ = 0;                   // number of sets that are not hot; 0: all units are different
  double once_share_ = 1;
  struct HotSets {
    uint64_t end, first_set, sets;  // number of the first unit behind these sets
  };
  std::vector<HotSets> hot_;
  const ContentSettings::Flips flips_;
  uint64_t units_ = 0;
  std::unique_ptr<std::atomic<bool>[]> flipped_;  // by unit; null: sets do not flip
};

// Memory in which a thread assembles the data of its writes. It begins at a page, as devices require.
class ContentWriter {
 public:
  // `number`: number of the thread in the whole run.
  explicit ContentWriter(uint64_t number);
  // Returns `length` bytes, valid until the next call. `offset`: in the SD or file. `base`: beginning of the file in the row of
  // all files, a multiple of a unit.
  std::string_view get(const Content& content, uint64_t offset, uint64_t length, uint64_t base = 0);

 private:
  char* room(uint64_t length);

  Random once_;
  PageBuffer buffer_;
};

}  // namespace fsr::vdbench
