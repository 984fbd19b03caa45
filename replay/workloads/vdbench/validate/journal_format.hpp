// SPDX-License-Identifier: Apache-2.0
// Layout of the files of a journal, as journal.hpp describes them, for the writer and the reader of journals.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace fsr::vdbench {

struct MapHead {
  char magic[8] = {'F', 'S', 'R', 'K', 'E', 'Y', 'S', '2'};
  uint64_t generation = 0, shape = 0, unit = 0, blocks = 0;
};

struct JournalHead {
  char magic[8] = {'F', 'S', 'R', 'J', 'N', 'L', '0', '3'};
  uint64_t generation = 0;
};

struct JournalEntry {
  uint64_t block = 0;
  uint32_t blocks = 0;
  uint8_t key = 0, kind = 0;
  uint16_t thread = 0;
  uint64_t sum = 0;
  uint64_t checksum() const { return XXH3_64bits(this, offsetof(JournalEntry, sum)); }
};
static_assert(sizeof(MapHead) == 40 && sizeof(JournalHead) == 16 && sizeof(JournalEntry) == 24);
inline constexpr size_t kNamePart = offsetof(JournalEntry, key);  // octets of a name in an entry, in place of the blocks

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// `text` has all octets of the value.
template <class T>
T value_at(const std::string& text, size_t at) {
  T value;
  memcpy(&value, text.data() + at, sizeof value);
  return value;
}

inline std::string journal_path(const std::string& directory, const std::string& name, const char* kind) {
  return directory + "/" + name + kind;
}

}  // namespace fsr::vdbench
