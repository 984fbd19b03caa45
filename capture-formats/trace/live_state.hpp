// SPDX-License-Identifier: Apache-2.0
// State of the tree that a sequence of operations works on: names, objects, open instances, locks, sizes.
//
// Shared by the writer (checkpoints), by replay (initial image, --from) and by tests. Memory grows with the number of live
// objects. An object that has neither a name nor an open instance is forgotten. forget_unused() also forgets objects that were
// not used for long. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "../op.hpp"

namespace fsr {

struct LiveObject {
  ObjectId id = kNoObject;
  Attr attr;           // the latest known; valid says what
  std::string target;  // symlink, where known
  uint32_t names = 0;  // names known
  uint32_t opens = 0;  // open instances
};

struct LiveOpen {
  HandleId handle = 0;
  ObjectId object = kNoObject;
  uint32_t open_flags = 0;
  ThreadId thread = 0;
  bool directory = false;
};

struct LiveLock {
  ObjectId object = kNoObject;
  HandleId handle = 0;
  uint64_t owner = 0, offset = 0, length = 0;
  uint32_t mode = 0;
  bool flock = false;
};

class LiveState {
 public:
  LiveState();
  ~LiveState();
  LiveState(LiveState&&) noexcept;
  LiveState& operator=(LiveState&&) noexcept;

  // Called when an operation shows that something existed before anything in the sequence made it. `object` may be kNoObject (a
  // name from a readdir or a refusal whose object was never seen; `type` then holds its S_IFMT bits, 0 = unknown): then the call
  // comes again once the object is known. `parent` is kNoObject and `name` empty for an object whose name was never seen. The
  // attributes of the operation's reply are in object(object)->attr already.
  using Discovered = std::function<void(ObjectId parent, std::string_view name, ObjectId object, uint32_t type)>;
  void on_discovered(Discovered callback);

  void apply(const Op& op);  // in order of effect

  // True if no other owner holds a lock that prevents `op`, a setlk or flock, from being granted.
  bool grants(const Op& op) const;

  const LiveObject* object(ObjectId id) const;
  const LiveOpen* open(HandleId handle) const;
  // kNoObject and false: not known; kNoObject and true: known to exist, object never seen.
  bool lookup(ObjectId parent, std::string_view name, ObjectId* object) const;
  void each_object(const std::function<void(const LiveObject&)>& visit) const;
  void each_name(const std::function<void(ObjectId parent, std::string_view name, ObjectId object, uint32_t type)>& visit) const;
  void each_open(const std::function<void(const LiveOpen&)>& visit) const;
  void each_lock(const std::function<void(const LiveLock&)>& visit) const;

  // The body of a checkpoint, whole or piece by piece: a copy of a large state costs as much as the state.
  using Sink = std::function<void(std::string_view part, bool last)>;
  void serialize(const Sink& sink) const;
  std::string serialize() const;
  bool restore(std::string_view serialized);  // false: not one
  // Returns a copy with other names, attributes and owners of locks. Each function changes one member; empty: the member stays.
  struct Renaming {
    std::function<std::string(std::string_view)> name, target;
    std::function<void(Attr&)> attr;
    std::function<uint64_t(uint64_t)> owner;
  };
  LiveState renamed(const Renaming& renaming) const;
  size_t objects() const;

  size_t memory() const;  // bytes, about
  // Makes apply() and restore() throw std::length_error before memory grows beyond `bytes`. Use it for untrusted input, because a
  // few bytes of a trace may stand for a file.
  void limit(size_t bytes);
  // Forgets names that were not used for long, and objects with their last name, until the rest takes at most `bytes`. Use it if
  // the sequence may be larger than memory. Open objects and the directories above them stay. Visits `steps` names at most.
  void forget_unused(size_t bytes, size_t steps);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
