// SPDX-License-Identifier: Apache-2.0
// The keys of an SD, or of all files of an FSD, on disk. With them, data validation can continue after the program was killed or
// the machine crashed.
//
// NAME.map holds the keys of all blocks at one moment. Writes and removals since are in NAME.jnl: an entry before each write of a
// block, with its new key, and one after it. A block without the second entry is pending: it may hold either key. The blocks of a
// removed file without the second entry may exist or not.
//
// NAME.map: "FSRKEYS2", generation (ns since the Unix epoch), shape (of the tree of files; 0: an SD), unit, blocks (8 octets
// each), keys (1 octet a block), XXH3 of everything before. NAME.jnl: "FSRJNL03", generation, then entries of 24 octets: first
// block (8), blocks (4), key, kind (1 before a write, 2 after it, 3 before a removal, 4 after it), thread (2), XXH3 of these 16.
// A run begins with entries of kind 5, the time of its begin (8, ns since the Unix epoch) and its rank (4), and 6, each with 12
// octets of its name. Little-endian. A journal with another generation than the map's is older than the map, and is ignored.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "util/unique_fd.hpp"
#include "workloads/vdbench/validate/block_keys.hpp"

namespace fsr::vdbench {

class BlockKeys;

class Journal {
 public:
  struct Options {
    bool flushes = true;     // wait for the disk before writes
    bool maps_only = false;  // write no entries
    uint64_t shape = 0;      // identifies the tree of files; 0: an SD
  };
  // Throws std::runtime_error, as begin() does.
  Journal(const std::string& directory, const std::string& name, const Options& options);

  // Writes the present keys to the map, and empties the journal. No thread may write meanwhile.
  void begin(const BlockKeys& keys);

  // Enters the begin of a run, whose writes follow. Throws as begin() does.
  void begin_run(const std::string& name, uint32_t rank);

  // Kinds of entries; they are those of whole transfers, except kRun and kRunName.
  enum Kind : uint8_t { kWrites = 1, kWritten, kRemoves, kRemoved, kRun, kRunName };
  struct Entry {
    uint64_t block;
    uint8_t key;
    uint64_t blocks = 1;  // number of blocks from `block` on
  };
  // Appends entries of a thread. Any thread. Does nothing with maps_only. False: they could not be written, and errno is set.
  bool add(Kind kind, const std::vector<Entry>& entries, uint32_t thread = 0);
  // Waits for the disk, if Options::flushes is set.
  bool flush();
  bool flushes() const { return options_.flushes && !options_.maps_only; }

 private:
  bool append(const std::string& entries);

  const std::string map_, journal_;
  const Options options_;
  UniqueFd fd_;
  std::atomic<bool> cut_{false};  // the last entry is incomplete, so no more are added
};

struct RecoveredKeys {
  uint64_t unit = 0, shape = 0;
  int64_t began = 0;                     // time when the map was made, ns since the Unix epoch
  std::vector<uint8_t> keys;             // by block
  std::map<uint64_t, uint8_t> pending;   // block and the key of its pending write
  std::map<uint64_t, uint64_t> removes;  // first block of a file that may have been removed, and the number of its blocks
  ThreadNames threads;                   // writers that the journal names
  std::vector<uint16_t> writers;         // by block: the number of its last writer in `threads`; 0: only the map has its key
  // Number of unreadable entries in the middle of the journal, and the offset of the first. They may be caused by a crash of the
  // machine. Their writes are unknown.
  uint64_t lost = 0, lost_at = 0;
};
// Reads the map and the journal. Throws std::runtime_error "FILE: why".
RecoveredKeys recover_keys(const std::string& directory, const std::string& name);
// Returns a line for each entry of the journal `file`, "DIR/NAME.jnl", and some for its map. `lba`: only entries of this byte.
// Throws as recover_keys() does.
std::string journal_text(const std::string& file, std::optional<uint64_t> lba);

}  // namespace fsr::vdbench
