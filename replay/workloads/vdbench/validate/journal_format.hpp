// SPDX-License-Identifier: Apache-2.0
// Layout of the files of a journal, as journal.hpp describes them. Only the writer and the reader of journals include this.
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace fsr::vdbench {

inline constexpr char kMapMagic[] = "FSRKEYS2", kJournalMagic[] = "FSRJNL03";
inline constexpr size_t kWord = 8, kMapHead = 5 * kWord, kJournalHead = 2 * kWord;
// Offsets of an entry's members, and its size.
inline constexpr size_t kBlocks = 8, kKey = 12, kKind = 13, kThread = 14, kEntrySum = 16, kEntry = 24;

inline void put(std::string& out, uint64_t word) { out.append(reinterpret_cast<const char*>(&word), sizeof word); }

inline uint64_t word_at(std::string_view text, size_t at) {
  uint64_t word;
  memcpy(&word, text.data() + at, sizeof word);
  return word;
}

inline uint64_t entry_sum(const char* entry) { return XXH3_64bits(entry, kEntrySum); }

inline std::string journal_path(const std::string& directory, const std::string& name, const char* kind) {
  return directory + "/" + name + kind;
}

}  // namespace fsr::vdbench
