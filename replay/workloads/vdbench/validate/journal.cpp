// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/validate/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "util/output_file.hpp"
#include "workloads/vdbench/validate/block_keys.hpp"

namespace fsr::vdbench {

namespace {

constexpr char kMapMagic[] = "FSRKEYS1", kJournalMagic[] = "FSRJNL01";
constexpr size_t kWord = 8, kMapHead = 4 * kWord, kJournalHead = 2 * kWord, kEntry = 16, kEntrySum = 12;

void put(std::string& out, uint64_t word) { out.append(reinterpret_cast<const char*>(&word), sizeof word); }

uint64_t word_at(const std::string& text, size_t at) {
  uint64_t word;
  memcpy(&word, text.data() + at, sizeof word);
  return word;
}

uint32_t entry_sum(const char* entry) { return uint32_t(XXH3_64bits(entry, kEntrySum)); }

std::string content(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) throw std::runtime_error(name + ": " + strerror(errno));
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) throw std::runtime_error(name + ": can't be read");
  return text;
}

std::string path(const std::string& directory, const std::string& name, const char* kind) {
  return directory + "/" + name + kind;
}

}  // namespace

Journal::Journal(const std::string& directory, const std::string& name, bool flushes, bool maps_only)
    : map_(path(directory, name, ".map")), journal_(path(directory, name, ".jnl")), flushes_(flushes), maps_only_(maps_only) {}

void Journal::begin(const BlockKeys& keys) {
  const auto generation = uint64_t(std::chrono::system_clock::now().time_since_epoch().count());
  std::string map(kMapMagic, kWord);
  for (uint64_t word : {generation, keys.unit(), keys.blocks()}) put(map, word);
  for (uint64_t block = 0; block < keys.blocks(); ++block) map += char(keys.key(block * keys.unit()));
  put(map, XXH3_64bits(map.data(), map.size()));
  OutputFile(map_, true, Readers::owner).finish(map);
  std::string head(kJournalMagic, kWord);
  put(head, generation);
  // Until it has its name, the one before it is there, and is known to be older than the map.
  OutputFile(journal_, true, Readers::owner).finish(head);
  cut_ = false;
  fd_ = UniqueFd(open(journal_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!fd_ || !flush()) throw std::runtime_error(journal_ + ": " + strerror(errno));
}

bool Journal::add(const std::vector<Entry>& entries, uint8_t kind) {
  if (maps_only_) return true;
  if (cut_) {
    errno = ENOSPC;
    return false;
  }
  std::string text;
  for (const Entry& entry : entries) {
    char octets[kEntry] = {};
    memcpy(octets, &entry.block, kWord);
    octets[kWord] = char(entry.key);
    octets[kWord + 1] = char(kind);
    const uint32_t sum = entry_sum(octets);
    memcpy(octets + kEntrySum, &sum, sizeof sum);
    text.append(octets, kEntry);
  }
  // Appended in one piece: threads that add at the same time do so one after another.
  const ssize_t written = write(fd_.get(), text.data(), text.size());
  if (written >= 0 && written != ssize_t(text.size())) {
    cut_ = true;  // what came behind a part of an entry could not be read
    errno = ENOSPC;
  }
  return written == ssize_t(text.size());
}

bool Journal::flush() { return !flushes() || fdatasync(fd_.get()) == 0; }

static bool is_entry(const std::string& journal, size_t at, uint64_t blocks) {
  uint32_t sum;
  memcpy(&sum, journal.data() + at + kEntrySum, sizeof sum);
  return sum == entry_sum(journal.data() + at) && word_at(journal, at) < blocks;
}

RecoveredKeys recover_keys(const std::string& directory, const std::string& name) {
  const std::string map_name = path(directory, name, ".map"), journal_name = path(directory, name, ".jnl");
  const std::string map = content(map_name);
  if (map.size() < kMapHead + kWord || memcmp(map.data(), kMapMagic, kWord) != 0)
    throw std::runtime_error(map_name + ": is no map of a journal");
  RecoveredKeys found;
  found.unit = word_at(map, 2 * kWord);
  const uint64_t blocks = word_at(map, 3 * kWord);
  const size_t end = map.size() - kWord;
  if (blocks != end - kMapHead || found.unit == 0 || word_at(map, end) != XXH3_64bits(map.data(), end))
    throw std::runtime_error(map_name + ": is damaged");
  found.keys.assign(map.begin() + kMapHead, map.begin() + ptrdiff_t(end));
  const std::string journal = content(journal_name);
  if (journal.size() < kJournalHead || memcmp(journal.data(), kJournalMagic, kWord) != 0)
    throw std::runtime_error(journal_name + ": is no journal");
  if (word_at(journal, kWord) != word_at(map, kWord)) return found;
  // The end may be cut, or what a machine that went down left of entries whose writes were never begun.
  size_t end_of_entries = (journal.size() - kJournalHead) / kEntry * kEntry + kJournalHead;
  while (end_of_entries > kJournalHead && !is_entry(journal, end_of_entries - kEntry, blocks)) end_of_entries -= kEntry;
  for (size_t at = kJournalHead; at < end_of_entries; at += kEntry) {
    const char* entry = journal.data() + at;
    const uint64_t block = word_at(journal, at);
    if (!is_entry(journal, at, blocks))
      throw std::runtime_error(fmt::format("{}: the entry at octet {} is damaged", journal_name, at));
    const auto key = uint8_t(entry[kWord]);
    if (entry[kWord + 1] == 1) {
      found.pending[block] = key;
    } else {
      found.pending.erase(block);
      found.keys[block] = key;
    }
  }
  return found;
}

}  // namespace fsr::vdbench
