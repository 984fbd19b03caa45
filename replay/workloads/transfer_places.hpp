// SPDX-License-Identifier: Apache-2.0
// Chooses where the reads of a stream go, or its writes, and how much they move: as the traits of a mix say. Not thread-safe;
// draws on nothing but its own random numbers.
//
// A sequential transfer begins where the last one through that open file ended. For this there must be a file with so much room
// behind its position; a transfer to elsewhere makes room where none is left. Shares are dealt from a deck, and sizes by equal
// steps through their distribution, so that a few hundred transfers have them already.
#pragma once

#include <optional>
#include <vector>

#include "mix/traits.hpp"
#include "workloads/share_dealer.hpp"
#include "workloads/working_set.hpp"

namespace fsr {

constexpr uint64_t kNoPosition = UINT64_MAX;

// Where the last transfer through each file of a stream ended, reads and writes together.
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
    uint32_t file = 0;  // of the stream's
    uint64_t at = 0;
    uint64_t bytes = 0;  // 0: a read at the file's end, or behind it
  };

  // `traits` are known. `files`, `by_size` (numbers of the files, the smallest first) and `positions` must outlive this; one of
  // the files has longest_run() bytes.
  TransferPlaces(const TransferTraits& traits, const StreamFiles& files, const std::vector<uint32_t>& by_size,
                 TransferPositions& positions, Random random);

  TransferRange next();

 private:
  // Draws sizes so that every stretch of draws has about their shares.
  class Sizes {
   public:
    Sizes(const std::vector<SizeWeight>& sizes, double from);
    uint64_t next() const { return next_; }
    void draw();

   private:
    std::vector<std::pair<double, uint64_t>> up_to_;  // share of all up to and with this size
    double at_;                                       // 0..1
    uint64_t next_ = 0;
  };

  std::optional<uint32_t> going_on(uint64_t bytes) const;  // the number in recent_ of a file with such room
  TransferRange jump(uint64_t bytes);
  uint32_t any_of(uint64_t least);
  void used(uint32_t file);

  const uint64_t run_;  // bytes
  const StreamFiles& files_;
  const std::vector<uint32_t>& by_size_;
  TransferPositions& positions_;
  Random random_;
  ShareDealer deck_;  // 0: elsewhere, 1: sequential
  Sizes sizes_, sequential_sizes_;
  std::vector<uint32_t> recent_;  // files, the one used last in front
};

// Bytes of the largest file that such transfers need.
uint64_t longest_run(const TransferTraits& traits);

}  // namespace fsr
