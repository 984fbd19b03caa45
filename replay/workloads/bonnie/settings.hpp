// SPDX-License-Identifier: Apache-2.0
// The settings of bonnie++'s options, with version 2.00a's defaults and limits.
#pragma once

#include <cstdint>
#include <string>

namespace fsr::bonnie {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kFilesUnit = 1024;  // files are counted by so many
constexpr int64_t kUsualChunk = 8192, kUsualSeeks = 8192, kUsualSeekers = 5;
constexpr int64_t kHardLinks = -1, kSymlinks = -2;  // in place of a largest size

struct Settings {
  // The big file
  int64_t size = 0;                                      // MiB; 0: none of its tests
  int64_t bytes_size = 3;                                // MiB of the tests that go by single bytes, `size` at most
  int64_t chunk = kUsualChunk;                           // bytes, a power of 2 from 256 to 1 MiB
  int64_t seeks = kUsualSeeks, seekers = kUsualSeekers;  // seekers run at the same time
  // The small ones
  int64_t files = 16;                 // by kFilesUnit; 0: none of their tests
  int64_t largest = 0, smallest = 0;  // bytes; or `largest` is kHardLinks or kSymlinks
  int64_t directories = 1;
  int64_t file_chunk = kUsualChunk;  // bytes of a write or read of these
  bool syncs = false;                // after each write of a seek and each change of a small file
  bool direct = false;               // O_DIRECT for the big file

  // "SIZE[:CHUNK[:SEEKS[:SEEKERS]]]", SIZE in MiB or with g or t, CHUNK in bytes or with k. Throws std::invalid_argument.
  void take_big(const std::string& text);
  // "FILES[:LARGEST[:SMALLEST[:DIRECTORIES[:CHUNK]]]]", FILES by 1024, the others in bytes or with k, m or g. Throws the same.
  void take_small(const std::string& text);
  // MiB, or nothing: 0. Throws the same.
  void take_bytes(const std::string& text);
  // The file that the memory asks for where no size was given: twice of it. 0: not known.
  void size_by_memory(int64_t mebibytes);
  // Whether all fit together and to that much memory, MiB; 0: it does not matter. Throws std::invalid_argument.
  void check(int64_t memory) const;

  int64_t file_count() const { return files * kFilesUnit; }
  int64_t chunks() const { return size * (kMiB / chunk); }
};

}  // namespace fsr::bonnie
