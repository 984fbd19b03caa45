// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/validate/journal.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "util/clock_ns.hpp"
#include "util/output_file.hpp"
#include "workloads/vdbench/validate/block_keys.hpp"

namespace fsr::vdbench {

namespace {

constexpr char kMapMagic[] = "FSRKEYS2", kJournalMagic[] = "FSRJNL02";
constexpr size_t kWord = 8, kMapHead = 5 * kWord, kJournalHead = 2 * kWord;
// Offsets of an entry's members, and its size.
constexpr size_t kBlocks = 8, kKey = 12, kKind = 13, kEntrySum = 16, kEntry = 24;

void put(std::string& out, uint64_t word) { out.append(reinterpret_cast<const char*>(&word), sizeof word); }

uint64_t word_at(const std::string& text, size_t at) {
  uint64_t word;
  memcpy(&word, text.data() + at, sizeof word);
  return word;
}

uint64_t entry_sum(const char* entry) { return XXH3_64bits(entry, kEntrySum); }

std::string entry_text(Journal::Kind kind, uint64_t block, uint32_t blocks, uint8_t key) {
  char octets[kEntry] = {};
  memcpy(octets, &block, kWord);
  memcpy(octets + kBlocks, &blocks, sizeof blocks);
  octets[kKey] = char(key);
  octets[kKind] = char(kind);
  const uint64_t sum = entry_sum(octets);
  memcpy(octets + kEntrySum, &sum, sizeof sum);
  return {octets, kEntry};
}

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

Journal::Journal(const std::string& directory, const std::string& name, const Options& options)
    : map_(path(directory, name, ".map")), journal_(path(directory, name, ".jnl")), options_(options) {}

void Journal::begin(const BlockKeys& keys) {
  const auto generation = uint64_t(clock_ns(CLOCK_REALTIME));
  std::string map(kMapMagic, kWord);
  for (uint64_t word : {generation, options_.shape, keys.unit(), keys.blocks()}) put(map, word);
  for (uint64_t block = 0; block < keys.blocks(); ++block) map += char(keys.key(block * keys.unit()));
  put(map, XXH3_64bits(map.data(), map.size()));
  OutputFile(map_, true, Readers::owner).finish(map);
  std::string head(kJournalMagic, kWord);
  put(head, generation);
  // Until the new journal has its name, the old one exists. Its generation shows that it is older than the map.
  OutputFile(journal_, true, Readers::owner).finish(head);
  cut_ = false;
  fd_ = UniqueFd(open(journal_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!fd_ || !flush()) throw std::runtime_error(journal_ + ": " + strerror(errno));
}

bool Journal::add(Kind kind, const std::vector<Entry>& entries) {
  if (options_.maps_only) return true;
  if (cut_) {
    errno = ENOSPC;
    return false;
  }
  std::string text;
  for (size_t i = 0; i < entries.size();) {
    // Adjacent blocks that get the same key become one entry.
    const Entry& first = entries[i];
    uint64_t blocks = first.blocks;
    while (++i < entries.size() && entries[i].key == first.key && entries[i].block == first.block + blocks)
      blocks += entries[i].blocks;
    for (uint64_t at = 0; at < blocks;) {
      const auto some = uint32_t(std::min<uint64_t>(blocks - at, UINT32_MAX));
      text += entry_text(kind, first.block + at, some, first.key);
      at += some;
    }
  }
  // Append everything in one write, because other threads may append at the same time.
  const ssize_t written = write(fd_.get(), text.data(), text.size());
  if (written >= 0 && written != ssize_t(text.size())) {
    cut_ = true;  // entries behind an incomplete one could not be read
    errno = ENOSPC;
  }
  return written == ssize_t(text.size());
}

bool Journal::flush() { return !flushes() || fdatasync(fd_.get()) == 0; }

namespace {

struct Read {
  uint64_t block;
  uint32_t blocks;
  uint8_t key;
  Journal::Kind kind;
};

// Returns the entry at an offset. None: it is incomplete or damaged.
std::optional<Read> entry_at(const std::string& journal, size_t at, uint64_t blocks) {
  const char* entry = journal.data() + at;
  if (word_at(journal, at + kEntrySum) != entry_sum(entry)) return {};
  Read read{word_at(journal, at), 0, uint8_t(entry[kKey]), Journal::Kind(entry[kKind])};
  memcpy(&read.blocks, entry + kBlocks, sizeof read.blocks);
  if (read.block > blocks || read.blocks > blocks - read.block) return {};
  return read;
}

void apply(const Read& entry, RecoveredKeys& found) {
  const uint64_t end = entry.block + entry.blocks;
  switch (entry.kind) {
    case Journal::kWrites:
      for (uint64_t block = entry.block; block < end; ++block) found.pending[block] = entry.key;
      break;
    case Journal::kRemoves:
      found.removes[entry.block] = entry.blocks;
      break;
    default:
      found.pending.erase(found.pending.lower_bound(entry.block), found.pending.lower_bound(end));
      if (entry.kind == Journal::kRemoved) found.removes.erase(entry.block);
      for (uint64_t block = entry.block; block < end; ++block)
        found.keys[block] = entry.kind == Journal::kRemoved ? BlockKeys::kUnknown : entry.key;
  }
}

}  // namespace

RecoveredKeys recover_keys(const std::string& directory, const std::string& name) {
  const std::string map_name = path(directory, name, ".map"), journal_name = path(directory, name, ".jnl");
  const std::string map = content(map_name);
  if (map.size() < kMapHead + kWord || memcmp(map.data(), kMapMagic, kWord) != 0)
    throw std::runtime_error(map_name + ": is not the map of a journal");
  RecoveredKeys found;
  found.began = int64_t(word_at(map, kWord));
  found.shape = word_at(map, 2 * kWord);
  found.unit = word_at(map, 3 * kWord);
  const uint64_t blocks = word_at(map, 4 * kWord);
  const size_t end = map.size() - kWord;
  if (blocks != end - kMapHead || found.unit == 0 || word_at(map, end) != XXH3_64bits(map.data(), end))
    throw std::runtime_error(map_name + ": is damaged");
  found.keys.assign(map.begin() + kMapHead, map.begin() + ptrdiff_t(end));
  const std::string journal = content(journal_name);
  if (journal.size() < kJournalHead || memcmp(journal.data(), kJournalMagic, kWord) != 0)
    throw std::runtime_error(journal_name + ": is not a journal");
  if (word_at(journal, kWord) != word_at(map, kWord)) return found;
  // The last entries may be incomplete, or damaged by a crash of the machine before their writes began.
  size_t end_of_entries = (journal.size() - kJournalHead) / kEntry * kEntry + kJournalHead;
  while (end_of_entries > kJournalHead && !entry_at(journal, end_of_entries - kEntry, blocks)) end_of_entries -= kEntry;
  for (size_t at = kJournalHead; at < end_of_entries; at += kEntry) {
    if (const std::optional<Read> entry = entry_at(journal, at, blocks))
      apply(*entry, found);
    else if (found.lost++ == 0)
      found.lost_at = at;
  }
  return found;
}

}  // namespace fsr::vdbench
