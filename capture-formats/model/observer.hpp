// SPDX-License-Identifier: Apache-2.0
// Turns the operations of a trace into symbols. Knows what each thread has touched and opened, and how large files are. Memory
// follows the objects and open instances of the trace. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/hot_names.hpp"
#include "model/listings.hpp"
#include "model/lock_owners.hpp"
#include "model/recency.hpp"
#include "model/symbol.hpp"

namespace fsr {

struct Observed {
  Symbol symbol;
  std::optional<uint64_t> size;     // sample for the sizes of its kind and class,
  uint8_t size_class = 0;           // unless this one takes the place of the symbol's
  std::optional<uint64_t> existed;  // size of a file that existed before the trace, when it was seen first
  std::optional<uint64_t> gap;      // bytes between the end of the file and a write beyond it
};

class Observer {
 public:
  // Both must outlive this.
  Observer(const HotNames& hot, const LockOwners& owners) : hot_(hot), owners_(owners) {}
  // None: an operation that a model does not have, because its outcome is not known or its kind can't be made up.
  std::optional<Observed> add(const Op& op);
  uint64_t leaf_of(ObjectId object) const { return keys_.name_of(object).hash; }  // hash of its name; 0: not known
  // Ranges of locks, by number; shared by traces, so that they stay.
  const std::vector<std::pair<uint64_t, uint64_t>>& ranges() const { return ranges_; }
  void end_trace();

 private:
  struct Thread {
    Near near;
    Listings listings;
    std::vector<HandleId> handles;  // open, the one used last is the last
    ObjectId absent_in = kNoObject;
    std::string absent;  // name that was looked up last and not found
  };
  struct File {
    uint8_t type = 0;
    std::optional<uint64_t> size;
    std::map<uint8_t, uint64_t> began;                          // offset of the last transfer, by class of size
    std::map<uint8_t, std::unordered_set<uint64_t>> all_began;  // offsets of all transfers elsewhere
  };
  struct Open {
    ObjectId object = kNoObject;
    ThreadId thread = 0;
    uint64_t position = 0;
    bool listed = false;
  };

  Thread& thread_of(const Op& op);
  void use_object(const Op& op, Thread& thread, Symbol& symbol);
  uint8_t use_handle(Thread& thread, ThreadId id, HandleId handle, ObjectId object);
  void transfer(const Op& op, Observed& seen);
  void attributes(const Op& op, Symbol& s, std::optional<uint64_t>& size);
  uint8_t range(const Op& op);
  Reference parent_of(const Op& op, const Thread& thread, ObjectId parent, std::string_view name) const;
  void settle(const Op& op, Thread& thread, Observed& seen);

  Reference classify(const Thread& thread, ObjectId object, bool by_name) const;
  PathKeys::Name name_of(const Op& op) const;
  void list(const Op& op, Thread& thread, Observed& seen);

  const HotNames& hot_;
  const LockOwners& owners_;
  PathKeys keys_;
  Recency recency_;
  std::unordered_map<ThreadId, Thread> threads_;
  std::map<std::pair<uint32_t, int32_t>, ThreadId> main_threads_;  // by client and process
  std::unordered_map<ObjectId, File> files_;
  std::unordered_map<HandleId, Open> opens_;
  std::unordered_set<ObjectId> listed_;               // directories, once or more, or made
  std::unordered_map<ObjectId, uint64_t> positions_;  // of files that are used without an open instance
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;
  std::map<std::pair<uint64_t, uint64_t>, uint8_t> range_numbers_;
};

}  // namespace fsr
