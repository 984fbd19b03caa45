// SPDX-License-Identifier: Apache-2.0
// Turns start order into order of effect, so that every dependency points backwards and a look-ahead of any size can't deadlock.
//
// An operation takes effect between its start and its end. Most may pass at their start. What changes names (a create that made
// its file, mkdir, mknod, symlink, link, unlink, rmdir, rename) and locks that may block are held until their recorded end. An
// operation that saw a name in a state that a held change contradicts passes after that change, which then takes effect at the
// latest at the observer's own end; otherwise it passes before. Where no outcome decides, an overlapping pair stays in the order
// of the above rules, and dependencies leave it free.
//
// Memory: the held operations, at most as many as were under way at the same time in the capture. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "engine/op_copy.hpp"
#include "op_source.hpp"

namespace fsr {

// A change of a name that a successful operation made, or what an operation saw of it.
struct NameState {
  enum Kind : uint8_t { unknown, absent, present } kind = unknown;
  ObjectId object = kNoObject;  // present: which, where known

  bool contradicts(const NameState& other) const {
    if (kind == unknown || other.kind == unknown) return false;
    if (kind != other.kind) return true;
    return kind == present && object && other.object && object != other.object;
  }
};
struct NameView {
  ObjectId parent = kNoObject;
  std::string_view name;
  NameState before;  // what the outcome says of the name before the operation took effect
  NameState after;   // and after it
};
// The names (at most two) that an operation changed or saw; returns how many.
unsigned name_views(const Op& op, NameView views[2]);
// A successful change of the name space.
bool changes_names(const Op& op);

class Linearizer {
 public:
  // With `by_start` nothing is held: operations come as the source has them. Leaves out what started before `from`, and ends at
  // the first operation that started at or after `to`.
  Linearizer(OpSource& source, int64_t from, int64_t to, bool by_start = false);
  ~Linearizer();

  // The next operation in order of effect, valid until the next call; null at the end.
  const Op* next();
  // Latest start of what is held; INT64_MIN when nothing is.
  int64_t held_since() const { return held_since_; }
  // False: none of what is held belongs to that thread.
  bool holds(ThreadId thread) const { return held_of_[thread % kThreads] != 0; }

 private:
  struct Held {
    OpCopy copy;
    int64_t release = 0;
    uint64_t rank = 0;  // order of arrival, decides between equal release times
    NameView views[2];
    unsigned view_count = 0;
    bool change = false;
  };
  struct Earlier {
    bool operator()(const Held* a, const Held* b) const {
      return a->release != b->release ? a->release < b->release : a->rank < b->rank;
    }
  };

  enum class Place : uint8_t { free, held, at_once };

  const Op* peek(size_t ahead = 0);
  bool must_hold(const Op& op);
  void hold(const Op& op, int64_t release);
  void set_release(Held& held, int64_t release);
  Place follow_changes(const Op& op, int64_t* release);
  const Op* emit_first();
  void index(Held& held, bool add);

  OpSource& source_;
  int64_t from_, to_;
  bool by_start_;
  bool ended_ = false;
  OpBatch batch_;
  size_t at_ = 0;
  std::set<Held*, Earlier> held_;
  std::unordered_multimap<uint64_t, Held*> changes_;      // by name
  std::unordered_multimap<ObjectId, Held*> directories_;  // by parent of a change
  std::vector<std::unique_ptr<Held>> pool_;
  std::vector<Held*> free_;
  Held* emitted_ = nullptr;
  uint64_t rank_ = 0;
  int64_t held_since_ = INT64_MIN;
  static constexpr size_t kThreads = 256;
  std::array<uint32_t, kThreads> held_of_{};  // how many are held, by thread modulo kThreads
};

}  // namespace fsr
