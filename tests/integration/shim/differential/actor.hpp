// SPDX-License-Identifier: Apache-2.0
// The processes that issue the calls of a sequence in one directory.
//
// A side (one directory) has a runner, which forks one process per role; a call can fork more. The processes pass the turn on
// among themselves through shared memory, so that a call costs a switch of processes only where the actor changes. All of them
// are in the runner's process group and are gone when run_side() returns. Every actor is confined by chroot to the directory.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>

#include "call.hpp"

namespace differential {

constexpr int kMaxOps = 1000;

// Kinds of users. As actors they have these numbers.
enum Role { kRoot, kUser, kOther, kRootWithout, kUserWith, kNamespaceRoot, kRoles };

std::string actor_name(int actor);
int find_actor(const std::string& name);  // -1: none

// In memory shared by a side's processes and the comparer.
struct Side {
  std::atomic<uint32_t> go[kActors];  // futexes: 1 + the number of the op whose turn it is
  std::atomic<uint32_t> alive[kActors];
  pid_t pids[kActors];
  std::atomic<uint32_t> done;             // futex
  std::atomic<uint32_t> at;               // the op that was begun last
  std::atomic<uint32_t> mapped;           // something was mapped
  std::atomic<uint32_t> allocated;        // room was, by fallocate(2)
  std::atomic<uint32_t> changed_mapping;  // something was written through a mapping
  std::atomic<uint32_t> set_times;        // some were set by a call
  std::atomic<uint32_t> finished;         // the runner did everything
  time_t began;
  std::array<Result, kMaxOps> results;
  char tree[1 << 19], beneath[1 << 19];  // what is there afterwards, as text, through the directory and beneath it
  char trouble[256];                     // why the runner could not do its work
};

struct Sequence {
  int outside = -1;     // role that works beneath the shim, on the directory itself; -1: none
  bool mounts = false;  // the directory is there and has mount points in it, which stay
  uint32_t count;
  std::array<Op, kMaxOps> ops;
};

// What a process of a side has open.
class Process {
 public:
  Side* side = nullptr;
  const Sequence* sequence = nullptr;
  int self = 0;      // its number as an actor
  uint32_t op = 0;   // the number of the running op
  int proc_fd = -1;  // /proc
  int files[kSlots];
  int watches[kWatches];  // of inotify
  struct Map {
    char* begin = nullptr;
    size_t length = 0;
    int64_t file = 0;    // its inode's number
    int64_t offset = 0;  // in the file
  } maps[kMaps];

  int fd(int64_t slot) const { return slot < 0 ? int(slot) : files[slot]; }
  // Puts an answer (a new descriptor, or -1 with errno) into a slot, closing what was there.
  void put(int64_t slot, int fd, Result& result);
  // For a result's kOnDirectory, where `whence` matters.
  int64_t on_directory(int64_t slot, int64_t whence) const;
  bool has_set_id(int64_t slot) const;
  void close_slot(int64_t slot);
  void close_all();
  int64_t recent(int64_t seconds, int64_t nanoseconds) const;  // the time itself, or 1 when it is about now
  void act();                                                  // takes turns until the sequence ends
};

// -1 becomes the errno; the value otherwise.
inline bool answer(Result& result, int64_t value) {
  result.value = value;
  if (value < 0) result.error = errno;
  return value >= 0;
}

// Runs the sequence in `directory` (made for it, and removed again, unless it has mounts); `beneath` is another way to it, or
// null. To be called in a process of its own that leads a process group.
void run_side(Side& side, const Sequence& sequence, const char* directory, const char* beneath);

}  // namespace differential
