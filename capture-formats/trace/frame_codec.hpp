// SPDX-License-Identifier: Apache-2.0
// Compresses each record into an independent zstd frame with content size and checksum. Contexts are reused. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bytes.hpp"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace fsr {

class FrameCompressor {
 public:
  explicit FrameCompressor(int level);
  ~FrameCompressor();
  // Appends the frame to `out`; a zstd block ends at each of `borders` (ascending offsets into `record`).
  void compress(std::string_view record, const std::vector<size_t>& borders, ByteWriter& out);

 private:
  ZSTD_CCtx_s* context_;
};

class FrameDecompressor {
 public:
  FrameDecompressor();
  ~FrameDecompressor();
  // The record in `frame`, in memory of this object until the next call. nullptr: damaged or more than kMaxRecord, `why` says.
  bool decompress(std::string_view frame, std::string_view* record, std::string* why);

 private:
  ZSTD_DCtx_s* context_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
};

}  // namespace fsr
