// SPDX-License-Identifier: Apache-2.0
// The keys of an SD on disk, so that data validation goes on after its program was killed, or its machine.
//
// NAME.map holds the keys of all blocks at one moment, NAME.jnl what was written since: an entry before each write of a block,
// with the key that it will have, and one after it. A block without the second is pending: it may hold either key.
//
// NAME.map: "FSRKEYS1", generation, unit, blocks (8 octets each), keys (1 octet a block), XXH3 of all before. NAME.jnl:
// "FSRJNL01", generation, then entries of 16 octets: block, key, 1 before or 2 after, 2 octets of zeros, XXH3 of these 12, its
// lower half. Little- endian. A journal whose generation is another than the map's is older than that, and holds nothing more.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "util/unique_fd.hpp"

namespace fsr::vdbench {

class BlockKeys;

class Journal {
 public:
  // Throws std::runtime_error, as all but the thread-safe members.
  Journal(const std::string& directory, const std::string& name, bool flushes, bool maps_only);

  // Nobody writes: the map becomes what the keys are now, and the journal empty.
  void begin(const BlockKeys& keys);

  // Any thread. Entries of whole transfers, by block; nothing with maps_only.
  struct Entry {
    uint64_t block;
    uint8_t key;
  };
  // False: it could not be written, errno is set. flush() waits for the disk, unless it is not to.
  bool before(const std::vector<Entry>& entries) { return add(entries, 1); }
  bool after(const std::vector<Entry>& entries) { return add(entries, 2); }
  bool flush();
  bool flushes() const { return flushes_ && !maps_only_; }

 private:
  bool add(const std::vector<Entry>& entries, uint8_t kind);

  const std::string map_, journal_;
  const bool flushes_, maps_only_;
  UniqueFd fd_;
  std::atomic<bool> cut_{false};  // its last entry is not whole: nothing more is added
};

struct RecoveredKeys {
  uint64_t unit = 0;
  std::vector<uint8_t> keys;            // by block
  std::map<uint64_t, uint8_t> pending;  // block: the key that it would have had
};
// Throws std::runtime_error "FILE: why".
RecoveredKeys recover_keys(const std::string& directory, const std::string& name);

}  // namespace fsr::vdbench
