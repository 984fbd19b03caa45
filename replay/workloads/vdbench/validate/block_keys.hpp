// SPDX-License-Identifier: Apache-2.0
// The known content of an SD, or of all files of an anchor in one row. Each block has the key of its last write, and a mark if a
// thread uses it. A thread claims the blocks of a transfer while it checks or changes them. Thread-safe, except that only the
// thread that has claimed a block may use its key and time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fsr::vdbench {

class BlockKeys {
 public:
  static constexpr uint8_t kUnknown = 0, kBad = 127;

  // `unit`: bytes of a block, a divisor of all lengths and offsets of transfers.
  BlockKeys(uint64_t size, uint64_t unit) : unit_(unit), blocks_(size / unit), states_(new State[blocks_ + 1]) {}

  uint64_t unit() const { return unit_; }
  uint64_t blocks() const { return blocks_; }  // complete blocks
  // Claims blocks. False: another thread has claimed one of them, so that none is claimed.
  bool claim(uint64_t offset, uint64_t length) {
    for (uint64_t block = offset / unit_, end = end_of(offset, length); block < end; ++block) {
      if (!(states_[block].key.fetch_or(kBusy, std::memory_order_acquire) & kBusy)) continue;
      release_blocks(offset / unit_, block);
      return false;
    }
    return true;
  }
  void release(uint64_t offset, uint64_t length) { release_blocks(offset / unit_, end_of(offset, length)); }

  // Key of a claimed block, by its offset.
  uint8_t key(uint64_t offset) const { return states_[offset / unit_].key.load(std::memory_order_relaxed) & kKey; }
  void set(uint64_t offset, uint8_t key) { states_[offset / unit_].key.store(key | kBusy, std::memory_order_relaxed); }
  // Forgets the content of blocks that no thread uses.
  void forget(uint64_t offset, uint64_t length) {
    for (uint64_t block = offset / unit_, end = end_of(offset, length); block < end; ++block) {
      states_[block].key.store(kUnknown, std::memory_order_relaxed);
      states_[block].last_good = {};
    }
  }
  // Last events at which a block was known to be correct.
  struct LastGood {
    uint32_t written = 0, read = 0;   // s since the Unix epoch; 0: not known
    uint16_t writer = 0, reader = 0;  // numbers in the ThreadNames; 0: not known
  };
  const LastGood& last_good(uint64_t offset) const { return states_[offset / unit_].last_good; }
  void wrote(uint64_t offset, uint32_t time, uint16_t thread) { states_[offset / unit_].last_good = {time, 0, thread, 0}; }
  void read_well(uint64_t offset, uint32_t time, uint16_t thread) {
    LastGood& good = states_[offset / unit_].last_good;
    good.read = time;
    good.reader = thread;
  }

 private:
  static constexpr uint8_t kBusy = 0x80, kKey = 0x7f;
  struct State {
    LastGood last_good;
    std::atomic<uint8_t> key{kUnknown};
  };
  uint64_t end_of(uint64_t offset, uint64_t length) const { return (offset + length + unit_ - 1) / unit_; }
  void release_blocks(uint64_t from, uint64_t to) {
    for (uint64_t block = from; block < to; ++block) states_[block].key.fetch_and(kKey, std::memory_order_release);
  }

  const uint64_t unit_, blocks_;
  const std::unique_ptr<State[]> states_;
};

// Names of the threads that have written or read a storage in all runs, by number. Add names while no thread uses the table.
class ThreadNames {
 public:
  // Returns the number of a new name. 0, the number of no name: the table is full.
  uint16_t add(const std::string& name) {
    if (names_.size() > UINT16_MAX) return 0;
    names_.push_back(name);
    return uint16_t(names_.size() - 1);
  }
  // Adds all names of `other`. Returns their new numbers, by the old ones.
  std::vector<uint16_t> add(const ThreadNames& other) {
    std::vector<uint16_t> numbers = {0};
    for (size_t i = 1; i < other.names_.size(); ++i) numbers.push_back(add(other.names_[i]));
    return numbers;
  }
  const std::string& at(uint16_t number) const { return names_[number]; }

 private:
  std::vector<std::string> names_ = {"an unknown thread"};
};

}  // namespace fsr::vdbench
