// SPDX-License-Identifier: Apache-2.0
// Chooses file, position and size of a stream's reads or writes according to the traits of a mix. Not thread-safe. Depends only
// on its own random numbers.
//
// A sequential transfer begins where the last one through the same open file ended. So there must be a file with enough bytes
// after its position. If no file has them, the next transfer that is not sequential moves to a position that has. Shares are
// dealt from a deck, and sizes by equal steps through their distribution, so that a few hundred transfers meet them.
#pragma once

#include <optional>
#include <vector>

#include "mix/traits.hpp"
#include "workloads/share_dealer.hpp"
#include "workloads/working_set.hpp"

namespace fsr {

constexpr uint64_t kNoPosition = UINT64_MAX;

// Position after the last transfer through each file of a stream, for reads and writes together.
class TransferPositions {
 public:
  void resize(size_t files) { ends_.resize(files, kNoPosition); }
  uint64_t& operator[](uint32_t file) { return ends_[file]; }

 private:
  std::vector<uint64_t> ends_;
};

class TransferPlaces {
 public:
  struct TransferRange {
    uint32_t file = 0;  // index in the stream's files
    uint64_t at = 0;
    uint64_t bytes = 0;  // 0: a read at the end of the file, or behind it
  };

  // `traits`: known. `files` and `positions` must outlive this. One of the files has longest_run() bytes.
  TransferPlaces(const TransferTraits& traits, const StreamFiles& files, TransferPositions& positions, Random random);

  TransferRange next();

 private:
  // Draws sizes so that any sequence of draws has about their shares.
  class Sizes {
   public:
    Sizes(const std::vector<SizeWeight>& sizes, double from);
    uint64_t next() const { return next_; }
    void draw();

   private:
    std::vector<std::pair<double, uint64_t>> up_to_;  // cumulative share up to this size, and the size
    double at_;                                       // 0..1
    uint64_t next_ = 0;
  };

  std::optional<uint32_t> going_on(uint64_t bytes) const;  // index in recent_ of a file with so many bytes left
  TransferRange jump(uint64_t bytes);
  uint32_t any_of(uint64_t least);
  void used(uint32_t file);

  const uint64_t run_;  // bytes of a run
  const StreamFiles& files_;
  TransferPositions& positions_;
  Random random_;
  ShareDealer dealer_;  // 0: not sequential, 1: sequential
  Sizes sizes_, sequential_sizes_;
  std::vector<uint32_t> recent_;  // files, the last used first
};

// Returns the bytes that the largest file needs for these transfers.
uint64_t longest_run(const TransferTraits& traits);

}  // namespace fsr
