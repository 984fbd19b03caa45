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

bool is_of_run(const JournalEntry& entry) { return entry.kind == Journal::kRun || entry.kind == Journal::kRunName; }

// Returns the entry at an offset. None: it is incomplete or damaged.
std::optional<JournalEntry> entry_at(const std::string& journal, size_t at, uint64_t blocks) {
  if (journal.size() - at < sizeof(JournalEntry)) return {};
  const auto entry = value_at<JournalEntry>(journal, at);
  const bool fits = entry.block <= blocks && entry.blocks <= blocks - entry.block;
  return entry.sum == entry.checksum() && (is_of_run(entry) || fits) ? std::optional(entry) : std::nullopt;
}

// Run to which entries of the journal belong.
class CurrentRun {
 public:
  void take(const JournalEntry& entry) {
    if (entry.kind == Journal::kRun) {
      numbers_.clear();
      began_ = int64_t(entry.block);
      rank_ = entry.blocks;
      name_.clear();
      return;
    }
    const char* const part = reinterpret_cast<const char*>(&entry);
    name_.append(part, strnlen(part, kNamePart));
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

void apply(const JournalEntry& entry, CurrentRun& run, RecoveredKeys& found) {
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

// Returns the beginning of a file. None: the file has another one.
template <class Head>
std::optional<Head> head_of(const std::string& file) {
  if (file.size() < sizeof(Head)) return {};
  const auto head = value_at<Head>(file, 0);
  return memcmp(head.magic, Head().magic, sizeof head.magic) == 0 ? std::optional(head) : std::nullopt;
}

struct Map {
  MapHead head;
  std::string keys;
};

Map read_map(const std::string& name) {
  const std::string file = content(name);
  const std::optional<MapHead> head = head_of<MapHead>(file);
  if (!head || file.size() < sizeof *head + sizeof(uint64_t)) throw std::runtime_error(name + ": is not the map of a journal");
  const size_t end = file.size() - sizeof(uint64_t);
  if (head->blocks != end - sizeof *head || head->unit == 0 || value_at<uint64_t>(file, end) != XXH3_64bits(file.data(), end))
    throw std::runtime_error(name + ": is damaged");
  return {*head, file.substr(sizeof *head, head->blocks)};
}

struct JournalFile {
  uint64_t generation;
  std::string content;
};

JournalFile read_journal(const std::string& name) {
  JournalFile file{0, content(name)};
  const std::optional<JournalHead> head = head_of<JournalHead>(file.content);
  if (!head) throw std::runtime_error(name + ": is not a journal of this version");
  file.generation = head->generation;
  return file;
}

}  // namespace

RecoveredKeys recover_keys(const std::string& directory, const std::string& name) {
  const Map map = read_map(journal_path(directory, name, ".map"));
  RecoveredKeys found;
  found.began = int64_t(map.head.generation);
  found.shape = map.head.shape;
  found.unit = map.head.unit;
  found.keys.assign(map.keys.begin(), map.keys.end());
  found.writers.resize(map.head.blocks);
  const auto [generation, journal] = read_journal(journal_path(directory, name, ".jnl"));
  if (generation != map.head.generation) return found;
  // The last entries may be incomplete, or damaged by a crash of the machine before their writes began.
  size_t end = (journal.size() - sizeof(JournalHead)) / sizeof(JournalEntry) * sizeof(JournalEntry) + sizeof(JournalHead);
  while (end > sizeof(JournalHead) && !entry_at(journal, end - sizeof(JournalEntry), map.head.blocks))
    end -= sizeof(JournalEntry);
  CurrentRun run;
  for (size_t at = sizeof(JournalHead); at < end; at += sizeof(JournalEntry)) {
    if (const std::optional<JournalEntry> entry = entry_at(journal, at, map.head.blocks))
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
  const uint64_t unit = map.head.unit, blocks = map.head.blocks;
  std::string text =
      fmt::format("map of {}: {} blocks of {} bytes, {} with a known key\n", wall_text(int64_t(map.head.generation)), blocks,
                  unit, std::ranges::count_if(map.keys, [](char key) { return key != BlockKeys::kUnknown; }));
  if (lba && *lba / unit < blocks)
    text += fmt::format("map: lba={}: block {}, key {}\n", *lba, *lba / unit, uint8_t(map.keys[*lba / unit]));
  const auto [generation, journal] = read_journal(file);
  if (generation != map.head.generation) return text + "the journal is older than the map, which has all of it\n";
  CurrentRun run;
  bool named = true;
  for (size_t at = sizeof(JournalHead); at < journal.size(); at += sizeof(JournalEntry)) {
    const std::optional<JournalEntry> entry = entry_at(journal, at, blocks);
    if (!entry) {
      text += fmt::format("{}: incomplete or damaged\n", at);
    } else if (is_of_run(*entry)) {
      run.take(*entry);
      named = false;
    } else if (!lba || (*lba / unit >= entry->block && *lba / unit < entry->block + entry->blocks)) {
      if (!std::exchange(named, true)) text += run.text() + "\n";
      const unsigned kind = entry->kind < std::size(kKinds) ? entry->kind : 0u;
      text += fmt::format("{}: {:<14} lba={} ({:#x}) size={} key={} thread={}\n", at, kKinds[kind], entry->block * unit,
                          entry->block * unit, entry->blocks * unit, entry->key, entry->thread);
    }
  }
  return text;
}

}  // namespace fsr::vdbench
