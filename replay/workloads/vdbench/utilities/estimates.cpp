// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/utilities/utilities.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "trace/frame_codec.hpp"
#include "workloads/vdbench/language/values.hpp"
#include "workloads/vdbench/utilities/input.hpp"

namespace fsr::vdbench {

namespace {

constexpr uint64_t kPiece = 128 << 10;  // bytes, as the original compresses
constexpr int kLevel = 1;               // of zstd; random bytes followed by zeros need no higher one

// Returns how many of the first `pieces` pieces are read. At least one is, if there are any.
double chosen_of(uint64_t pieces, double percent) { return std::ceil(double(pieces) * percent / 100); }

// Passes `percent` of the pieces of the file to `act`, evenly spread over the file.
void each_piece(const std::string& name, uint64_t size, double percent, const std::function<void(std::string_view)>& act) {
  Input input(name);
  for (uint64_t number = 0; number * size < input.size(); ++number)
    if (chosen_of(number + 1, percent) > chosen_of(number, percent))
      if (const std::string_view piece = input.read(number * size, size); !piece.empty()) act(piece);
}

}  // namespace

std::string compression_text(const std::vector<std::string>& files, double percent) {
  FrameCompressor compressor(kLevel);
  uint64_t all = 0, all_compressed = 0;
  std::string text;
  auto line = [&](const std::string& name, uint64_t bytes, uint64_t compressed) {
    text += fmt::format("{}: {} read, compratio={:.2f}\n", name, size_text(double(bytes)),
                        compressed ? double(bytes) / double(compressed) : 1.0);
  };
  for (const std::string& file : files) {
    uint64_t bytes = 0, compressed = 0;
    each_piece(file, kPiece, percent, [&](std::string_view piece) {
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
  if (unit == 0 || unit % 512) throw std::runtime_error("-u: expected a multiple of 512 bytes");
  struct Hash {
    size_t operator()(const XXH128_hash_t& hash) const { return hash.low64; }
  };
  struct Same {
    bool operator()(const XXH128_hash_t& a, const XXH128_hash_t& b) const { return XXH128_isEqual(a, b); }
  };
  std::unordered_set<XXH128_hash_t, Hash, Same> different;
  uint64_t units = 0;
  for (const std::string& file : files)
    each_piece(file, unit, 100, [&](std::string_view piece) {
      ++units;
      different.insert(XXH3_128bits(piece.data(), piece.size()));
    });
  return fmt::format("{} units of {}, {} different: dedupratio={:.2f}\n", units, size_text(double(unit)), different.size(),
                     different.empty() ? 1.0 : double(units) / double(different.size()));
}

}  // namespace fsr::vdbench
