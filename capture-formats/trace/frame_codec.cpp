// SPDX-License-Identifier: Apache-2.0
#include "frame_codec.hpp"

#include <zstd.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "frame.hpp"

namespace fsr {

FrameCompressor::FrameCompressor(int level) : context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
}

FrameCompressor::~FrameCompressor() { ZSTD_freeCCtx(context_); }

void FrameCompressor::compress(std::string_view record, const std::vector<size_t>& borders, ByteWriter& out) {
  constexpr size_t kPiece = 1 << 16;
  ZSTD_CCtx_reset(context_, ZSTD_reset_session_only);
  ZSTD_CCtx_setPledgedSrcSize(context_, record.size());
  size_t at = 0;
  char piece[kPiece];
  auto feed = [&](size_t end, ZSTD_EndDirective how) {
    ZSTD_inBuffer in{record.data() + at, end - at, 0};
    for (;;) {
      ZSTD_outBuffer o{piece, sizeof piece, 0};
      size_t left = ZSTD_compressStream2(context_, &o, &in, how);
      if (ZSTD_isError(left)) throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(left));
      out.raw(piece, o.pos);
      if (left == 0 && in.pos == in.size) break;
    }
    at = end;
  };
  for (size_t border : borders)
    if (border > at && border < record.size()) feed(border, ZSTD_e_flush);
  feed(record.size(), ZSTD_e_end);
}

FrameDecompressor::FrameDecompressor() : context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
}

FrameDecompressor::~FrameDecompressor() { ZSTD_freeDCtx(context_); }

bool FrameDecompressor::decompress(std::string_view frame, std::string_view* record, std::string* why) {
  unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) return *why = "not a zstd frame", false;
  if (size > kMaxRecord) return *why = "the frame claims more than 64 MiB", false;
  if (size > capacity_) {
    capacity_ = std::max<size_t>(size, 1 << 20);
    buffer_.reset(new char[capacity_]);
  }
  size_t got = ZSTD_decompressDCtx(context_, buffer_.get(), capacity_, frame.data(), frame.size());
  if (ZSTD_isError(got)) return *why = ZSTD_getErrorName(got), false;
  *record = {buffer_.get(), got};
  return true;
}

}  // namespace fsr
