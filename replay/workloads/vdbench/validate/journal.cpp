// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/validate/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "util/clock_ns.hpp"
#include "util/output_file.hpp"
#include "workloads/vdbench/validate/block_keys.hpp"
#include "workloads/vdbench/validate/journal_format.hpp"

namespace fsr::vdbench {

namespace {

void put_entry(std::string& out, JournalEntry entry) {
  entry.sum = entry.checksum();
  put(out, entry);
}

}  // namespace

Journal::Journal(const std::string& directory, const std::string& name, const Options& options)
    : map_(journal_path(directory, name, ".map")), journal_(journal_path(directory, name, ".jnl")), options_(options) {}

void Journal::begin(const BlockKeys& keys) {
  const auto generation = uint64_t(clock_ns(CLOCK_REALTIME));
  std::string map;
  put(map, MapHead{.generation = generation, .shape = options_.shape, .unit = keys.unit(), .blocks = keys.blocks()});
  for (uint64_t block = 0; block < keys.blocks(); ++block) map += char(keys.key(block * keys.unit()));
  put<uint64_t>(map, XXH3_64bits(map.data(), map.size()));
  OutputFile(map_, true, Readers::owner).finish(map);
  std::string head;
  put(head, JournalHead{.generation = generation});
  // Until the new journal has its name, the old one exists. Its generation shows that it is older than the map.
  OutputFile(journal_, true, Readers::owner).finish(head);
  cut_ = false;
  fd_ = UniqueFd(open(journal_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!fd_ || !flush()) throw std::runtime_error(journal_ + ": " + strerror(errno));
}

void Journal::begin_run(const std::string& name, uint32_t rank) {
  std::string text;
  put_entry(text, {.block = uint64_t(clock_ns(CLOCK_REALTIME)), .blocks = rank, .kind = kRun});
  for (size_t at = 0; at < name.size(); at += kNamePart) {
    JournalEntry part{.kind = kRunName};
    memcpy(&part, name.data() + at, std::min(name.size() - at, kNamePart));
    put_entry(text, part);
  }
  if (!append(text)) throw std::runtime_error(journal_ + ": " + strerror(errno));
}

bool Journal::add(Kind kind, const std::vector<Entry>& entries, uint32_t thread) {
  std::string text;
  for (size_t i = 0; i < entries.size();) {
    // Adjacent blocks that get the same key become one entry.
    const Entry& first = entries[i];
    uint64_t blocks = first.blocks;
    while (++i < entries.size() && entries[i].key == first.key && entries[i].block == first.block + blocks)
      blocks += entries[i].blocks;
    for (uint64_t at = 0; at < blocks;) {
      const auto some = uint32_t(std::min<uint64_t>(blocks - at, UINT32_MAX));
      put_entry(text, {first.block + at, some, first.key, kind, uint16_t(std::min<uint32_t>(thread, UINT16_MAX))});
      at += some;
    }
  }
  return append(text);
}

bool Journal::append(const std::string& entries) {
  if (options_.maps_only) return true;
  if (cut_) {
    errno = ENOSPC;
    return false;
  }
  // Append everything in one write, because other threads may append at the same time.
  const ssize_t written = write(fd_.get(), entries.data(), entries.size());
  if (written >= 0 && written != ssize_t(entries.size())) {
    cut_ = true;  // entries behind an incomplete one could not be read
    errno = ENOSPC;
  }
  return written == ssize_t(entries.size());
}

bool Journal::flush() { return !flushes() || fdatasync(fd_.get()) == 0; }

}  // namespace fsr::vdbench
