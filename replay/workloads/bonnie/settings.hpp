// SPDX-License-Identifier: Apache-2.0
// The settings of bonnie++'s options, with version 2.00a's defaults and limits.
#pragma once

#include <cstdint>
#include <string>

namespace fsr::bonnie {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kFilesUnit = 1024;  // unit of the number of files
constexpr int64_t kUsualChunk = 8192, kUsualSeeks = 8192, kUsualSeekers = 5;
constexpr int64_t kHardLinks = -1, kSymlinks = -2;  // special values of `largest`

struct Settings {
  // Settings of the big file
  int64_t size = 0;                                      // MiB; 0: its tests are not run
  int64_t bytes_size = 3;                                // MiB for the tests by single bytes; at most `size`
  int64_t chunk = kUsualChunk;                           // bytes, a power of 2 from 256 to 1 MiB
  int64_t seeks = kUsualSeeks, seekers = kUsualSeekers;  // seekers run at the same time
  // Settings of the small files
  int64_t files = 16;                 // in units of kFilesUnit; 0: their tests are not run
  int64_t largest = 0, smallest = 0;  // bytes of a file; `largest` may be kHardLinks or kSymlinks
  int64_t directories = 1;
  int64_t file_chunk = kUsualChunk;  // bytes of each write or read of a small file
  bool syncs = false;                // sync after each write of a seek and each change of a small file
  bool direct = false;               // use O_DIRECT for the big file

  // Parses "SIZE[:CHUNK[:SEEKS[:SEEKERS]]]", SIZE in MiB or with g or t, CHUNK in bytes or with k. Throws std::invalid_argument.
  void take_big(const std::string& text);
  // Parses "FILES[:LARGEST[:SMALLEST[:DIRECTORIES[:CHUNK]]]]", FILES in units of kFilesUnit, the others in bytes or with k, m or
  // g. Throws std::invalid_argument.
  void take_small(const std::string& text);
  // Parses bytes_size in MiB; an empty text gives 0. Throws std::invalid_argument.
  void take_bytes(const std::string& text);
  // Sets the size of the big file to twice the memory. Call this if no size was given. `mebibytes`: memory in MiB; 0: not known.
  void size_by_memory(int64_t mebibytes);
  // Throws std::invalid_argument if the settings don't fit each other or the memory. `memory`: MiB; 0: any.
  void check(int64_t memory) const;

  int64_t file_count() const { return files * kFilesUnit; }
  int64_t chunks() const { return size * (kMiB / chunk); }
};

}  // namespace fsr::bonnie
