// SPDX-License-Identifier: Apache-2.0
// --content fingerprint: describes data that is read or written by a hash of each block and by how well it compresses.
//
// The request path hashes each block and keeps a copy of one block in sixteen and of each file's first one. The hash is XXH3 with
// 128 bits, of which SipHash makes 64 under a key that no trace holds. So a reader of the trace can't find short content by
// trying all (tests/bench/cost shows the cost). The writer thread compresses these samples and derives the levels of the other
// blocks. Apart from first blocks, only the hash decides whether a block is sampled, so that equal blocks are treated alike in
// every file.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "op.hpp"

struct ZSTD_CCtx_s;

namespace fsr {

enum class Content { none, fingerprint, full };
const char* content_name(Content content);

using FingerprintKey = std::array<uint64_t, 2>;
FingerprintKey random_fingerprint_key();  // throws std::system_error

// One for each serving thread. Blocks have the same fingerprint if they are equal and the key is.
class Fingerprinter {
 public:
  explicit Fingerprinter(const FingerprintKey& key) : key_(key) {}
  // Points op.blocks and op.data (the samples, one after the other) at its own memory, valid until the next call. op.offset says
  // where in the file `data` lies.
  void take(Op& op, const char* data, size_t bytes);

 private:
  const FingerprintKey key_;
  std::vector<BlockPrint> blocks_;
  std::string samples_;
};

// Finds the compression levels of blocks, in the writer thread.
class CompressionMeter {
 public:
  CompressionMeter();
  ~CompressionMeter();
  // Takes what a Fingerprinter left in an operation on `object` and returns blocks with levels, valid until the next call. A
  // sample's level is its size after zstd level 1, in eighths rounded up; other blocks get that of an equal block, else that
  // of the object's last sample, else of the last sample of all.
  std::span<const BlockPrint> levels(std::span<const BlockPrint> blocks, std::string_view samples, ObjectId object,
                                     uint64_t offset, uint64_t bytes);

 private:
  struct Known {
    uint64_t key = 0;
    uint8_t level = 0;
  };
  uint8_t measure(std::string_view sample);
  static Known& slot(std::vector<Known>& table, uint64_t key);

  ZSTD_CCtx_s* zstd_;
  std::string out_;
  std::vector<BlockPrint> blocks_;
  std::vector<Known> by_hash_, by_object_;  // direct-mapped: the last one wins
  uint8_t last_ = 8;
};

}  // namespace fsr
