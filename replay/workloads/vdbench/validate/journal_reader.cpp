// SPDX-License-Identifier: Apache-2.0
// Reads journals, for recovery and to print them.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "workloads/vdbench/validate/block_keys.hpp"
#include "workloads/vdbench/validate/journal.hpp"
#include "workloads/vdbench/validate/journal_format.hpp"
#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

namespace {

std::string content(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) throw std::runtime_error(name + ": " + strerror(errno));
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) throw std::runtime_error(name + ": can't be read");
  return text;
}

struct Read {
  uint64_t block;
  uint32_t blocks;
  uint8_t key;
  Journal::Kind kind;
  uint16_t thread;
  bool of_run() const { return kind == Journal::kRun || kind == Journal::kRunName; }
};

// Returns the entry at an offset. None: it is incomplete or damaged.
std::optional<Read> entry_at(const std::string& journal, size_t at, uint64_t blocks) {
  const char* entry = journal.data() + at;
  if (word_at(journal, at + kEntrySum) != entry_sum(entry)) return {};
  Read read{word_at(journal, at), 0, uint8_t(entry[kKey]), Journal::Kind(entry[kKind]), 0};
  memcpy(&read.blocks, entry + kBlocks, sizeof read.blocks);
  memcpy(&read.thread, entry + kThread, sizeof read.thread);
  if (read.of_run()) return read;
  if (read.block > blocks || read.blocks > blocks - read.block) return {};
  return read;
}

// Run to which entries of the journal belong.
class CurrentRun {
 public:
  void take(const Read& entry) {
    if (entry.kind == Journal::kRun) {
      numbers_.clear();
      began_ = int64_t(entry.block);
      rank_ = entry.blocks;
      name_.clear();
      return;
    }
    char part[kKey];
    memcpy(part, &entry.block, kWord);
    memcpy(part + kBlocks, &entry.blocks, sizeof entry.blocks);
    name_.append(part, strnlen(part, sizeof part));
  }
  std::string text() const {
    return fmt::format("rd={}{}, begun {}", name_, rank_ ? fmt::format(" rank={}", rank_) : "", wall_text(began_));
  }
  // Returns the number of a thread in `names`, to which it is added when it is new.
  uint16_t number(uint16_t thread, ThreadNames& names) {
    const auto [at, is_new] = numbers_.try_emplace(thread);
    if (is_new) at->second = names.add(fmt::format("{}, as the journal says", writer_text(name_, rank_, thread)));
    return at->second;
  }

 private:
  std::string name_;
  uint32_t rank_ = 0;
  int64_t began_ = 0;
  std::map<uint16_t, uint16_t> numbers_;
};

void apply(const Read& entry, CurrentRun& run, RecoveredKeys& found) {
  const uint64_t end = entry.block + entry.blocks;
  switch (entry.kind) {
    case Journal::kRun:
    case Journal::kRunName:
      return run.take(entry);
    case Journal::kWrites:
      for (uint64_t block = entry.block; block < end; ++block) found.pending[block] = entry.key;
      return;
    case Journal::kRemoves:
      found.removes[entry.block] = entry.blocks;
      return;
    case Journal::kWritten:
    case Journal::kRemoved:
      found.pending.erase(found.pending.lower_bound(entry.block), found.pending.lower_bound(end));
      if (entry.kind == Journal::kRemoved) found.removes.erase(entry.block);
      for (uint64_t block = entry.block; block < end; ++block)
        found.keys[block] = entry.kind == Journal::kRemoved ? BlockKeys::kUnknown : entry.key;
      break;
    default:
      ++found.lost;
      return;
  }
  const uint16_t writer = run.number(entry.thread, found.threads);
  for (uint64_t block = entry.block; block < end; ++block) found.writers[block] = writer;
}

struct Map {
  std::string content;
  uint64_t blocks = 0;
};

Map read_map(const std::string& name) {
  Map map{content(name)};
  if (map.content.size() < kMapHead + kWord || memcmp(map.content.data(), kMapMagic, kWord) != 0)
    throw std::runtime_error(name + ": is not the map of a journal");
  map.blocks = word_at(map.content, 4 * kWord);
  const size_t end = map.content.size() - kWord;
  if (map.blocks != end - kMapHead || word_at(map.content, 3 * kWord) == 0 ||
      word_at(map.content, end) != XXH3_64bits(map.content.data(), end))
    throw std::runtime_error(name + ": is damaged");
  return map;
}

std::string read_journal(const std::string& name) {
  std::string journal = content(name);
  if (journal.size() >= kJournalHead && memcmp(journal.data(), kJournalMagic, kWord) == 0) return journal;
  throw std::runtime_error(name + ": is not a journal of this version");
}

}  // namespace

RecoveredKeys recover_keys(const std::string& directory, const std::string& name) {
  const Map map = read_map(journal_path(directory, name, ".map"));
  RecoveredKeys found;
  found.began = int64_t(word_at(map.content, kWord));
  found.shape = word_at(map.content, 2 * kWord);
  found.unit = word_at(map.content, 3 * kWord);
  found.keys.assign(map.content.begin() + kMapHead, map.content.end() - ptrdiff_t(kWord));
  found.writers.resize(map.blocks);
  const std::string journal = read_journal(journal_path(directory, name, ".jnl"));
  if (word_at(journal, kWord) != uint64_t(found.began)) return found;
  // The last entries may be incomplete, or damaged by a crash of the machine before their writes began.
  size_t end_of_entries = (journal.size() - kJournalHead) / kEntry * kEntry + kJournalHead;
  while (end_of_entries > kJournalHead && !entry_at(journal, end_of_entries - kEntry, map.blocks)) end_of_entries -= kEntry;
  CurrentRun run;
  for (size_t at = kJournalHead; at < end_of_entries; at += kEntry) {
    if (const std::optional<Read> entry = entry_at(journal, at, map.blocks))
      apply(*entry, run, found);
    else if (found.lost++ == 0)
      found.lost_at = at;
  }
  return found;
}

std::string journal_text(const std::string& file, std::optional<uint64_t> lba) {
  constexpr const char* kKinds[] = {"", "before write", "after write", "before removal", "after removal"};
  constexpr std::string_view kEnding = ".jnl";
  if (!file.ends_with(kEnding)) throw std::runtime_error(file + ": expected NAME.jnl");
  const Map map = read_map(file.substr(0, file.size() - kEnding.size()) + ".map");
  const uint64_t unit = word_at(map.content, 3 * kWord);
  const std::string_view keys = std::string_view(map.content).substr(kMapHead, map.blocks);
  std::string text =
      fmt::format("map of {}: {} blocks of {} bytes, {} with a known key\n", wall_text(int64_t(word_at(map.content, kWord))),
                  map.blocks, unit, std::ranges::count_if(keys, [](char key) { return key != BlockKeys::kUnknown; }));
  if (lba && *lba / unit < map.blocks)
    text += fmt::format("map: lba={}: block {}, key {}\n", *lba, *lba / unit, uint8_t(keys[*lba / unit]));
  const std::string journal = read_journal(file);
  if (word_at(journal, kWord) != word_at(map.content, kWord))
    return text + "the journal is older than the map, which has all of it\n";
  CurrentRun run;
  bool named = true;
  for (size_t at = kJournalHead; at < journal.size(); at += kEntry) {
    const auto entry = journal.size() - at < kEntry ? std::nullopt : entry_at(journal, at, map.blocks);
    if (!entry) {
      text += fmt::format("{}: incomplete or damaged\n", at);
    } else if (entry->of_run()) {
      run.take(*entry);
      named = false;
    } else if (!lba || (*lba / unit >= entry->block && *lba / unit < entry->block + entry->blocks)) {
      if (!std::exchange(named, true)) text += run.text() + "\n";
      const unsigned kind = entry->kind < std::size(kKinds) ? entry->kind : 0;
      text += fmt::format("{}: {:<14} lba={} ({:#x}) size={} key={} thread={}\n", at, kKinds[kind], entry->block * unit,
                          entry->block * unit, entry->blocks * unit, entry->key, entry->thread);
    }
  }
  return text;
}

}  // namespace fsr::vdbench
