// SPDX-License-Identifier: Apache-2.0
// Hash of a name in a directory: XXH3-64 (https://github.com/Cyan4973/xxHash), seeded by the directory.
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <string_view>

namespace fsr {

// The number of the directory is hashed first. XXH3 only adds its seed to bits that short names change, too. With the plain
// number as the seed, the names "f13" in directory 2 and "f10" in directory 3 would have the same hash.
inline uint64_t name_hash(uint64_t directory, std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), XXH3_64bits(&directory, sizeof directory));
}

}  // namespace fsr
