// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/utilities/estimates.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

#include "trace/frame_codec.hpp"
#include "util/unique_fd.hpp"
#include "workloads/vdbench/language/values.hpp"

namespace fsr::vdbench {

namespace {

constexpr uint64_t kPiece = 128 << 10;  // bytes, as the original compresses
constexpr int kLevel = 1;               // of zstd; random bytes followed by zeros need no higher one

// Passes every `step`-th piece of the file to `act`.
void each_piece(const std::string& name, uint64_t size, uint64_t step, const std::function<void(std::string_view)>& act) {
  UniqueFd fd(open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw std::runtime_error(name + ": " + strerror(errno));
  std::string piece(size, '\0');
  for (uint64_t number = 0;; number += step) {
    size_t got = 0;
    while (got < size) {
      const ssize_t n = pread(fd.get(), piece.data() + got, size - got, off_t(number * size + got));
      if (n < 0) throw std::runtime_error(name + ": " + strerror(errno));
      if (n == 0) break;
      got += size_t(n);
    }
    if (got == 0) return;
    act(std::string_view(piece).substr(0, got));
  }
}

}  // namespace

std::string compression_text(const std::vector<std::string>& files, double percent) {
  const auto step = uint64_t(std::lround(100 / percent));
  FrameCompressor compressor(kLevel);
  uint64_t all = 0, all_compressed = 0;
  std::string text;
  auto line = [&](const std::string& name, uint64_t bytes, uint64_t compressed) {
    text += fmt::format("{}: {} read, compratio={:.2f}\n", name, size_text(double(bytes)),
                        compressed ? double(bytes) / double(compressed) : 1.0);
  };
  for (const std::string& file : files) {
    uint64_t bytes = 0, compressed = 0;
    each_piece(file, kPiece, step, [&](std::string_view piece) {
      ByteWriter out;
      compressor.compress(piece, {}, out);
      bytes += piece.size();
      compressed += std::min<uint64_t>(out.size(), piece.size());
    });
    line(file, bytes, compressed);
    all += bytes;
    all_compressed += compressed;
  }
  if (files.size() > 1) line("all", all, all_compressed);
  return text;
}

std::string dedup_text(const std::vector<std::string>& files, uint64_t unit) {
  struct Hash {
    size_t operator()(const XXH128_hash_t& hash) const { return hash.low64; }
  };
  struct Same {
    bool operator()(const XXH128_hash_t& a, const XXH128_hash_t& b) const { return XXH128_isEqual(a, b); }
  };
  std::unordered_set<XXH128_hash_t, Hash, Same> different;
  uint64_t units = 0;
  for (const std::string& file : files)
    each_piece(file, unit, 1, [&](std::string_view piece) {
      ++units;
      different.insert(XXH3_128bits(piece.data(), piece.size()));
    });
  return fmt::format("{} units of {}, {} different: dedupratio={:.2f}\n", units, size_text(double(unit)), different.size(),
                     different.empty() ? 1.0 : double(units) / double(different.size()));
}

}  // namespace fsr::vdbench
