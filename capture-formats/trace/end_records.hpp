// SPDX-License-Identifier: Apache-2.0
// Operations that ended in a later block than they began in, by number.
//
// Memory is bounded: the first 262,144 operations stay in memory, about 80 MB. For each of the others 16 bytes stay, which say in
// which block it ended. That block is read again when the operation is asked for, and kept for a while, because operations that
// begin together end in few blocks. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "../op_source.hpp"

namespace fsr {

class EndRecords {
 public:
  using Visit = std::function<void(const Op&)>;
  // Calls `visit` with the operation of each end record in `block`, which is valid during the call.
  using ReadBlock = std::function<void(size_t block, const Visit& visit)>;
  explicit EndRecords(ReadBlock read, size_t in_memory = 1 << 18);

  // Adds the end records of `block`, which is higher than that of the call before. False: there is no memory for all of them, and
  // the rest is left out.
  bool collect(size_t block);
  // Returns the operation with this number, valid until the next call. Null: it has no end record.
  const Op* find(uint64_t seq);
  // Calls `visit` with the operations below `seq` that ended in a block above `block`, in order of their ends.
  void each_across(uint64_t seq, size_t block, const Visit& visit);
  size_t most() const { return most_; }

 private:
  struct End {
    Op op;
    size_t block;
  };
  struct Place {
    uint64_t seq;
    size_t block;
  };
  struct Block {
    std::unordered_map<uint64_t, Op> ops;
    Arena arena;
    uint64_t used = 0;
  };
  Block& load(size_t block);

  ReadBlock read_;
  const size_t in_memory_, most_;
  std::unordered_map<uint64_t, End> ends_;
  Arena arena_;
  std::vector<Place> places_;  // of the others
  bool sorted_ = true;
  std::map<size_t, Block> loaded_;
  size_t loaded_ops_ = 0;
  uint64_t uses_ = 0;
};

}  // namespace fsr
