// SPDX-License-Identifier: Apache-2.0
// Turns a mix into shares that can be kept up for any time: the action that is issued for each procedure, and its share.
//
// A load without an end must remove what it creates and create what it removes. If a mix has more of one than of the other, the
// larger share is reduced to the smaller one. Procedures that the target can't express get the share 0. The difference goes to
// the other procedures in proportion, and is reported. Procedures that a client of version 4 adds by itself (PUTFH, GETFH,
// SEQUENCE, ...) have no share. Constant once made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mix/mix.hpp"

namespace fsr {

class Target;
struct Op;

enum class Action : uint8_t {
  null,
  getattr,
  setattr,
  lookup,
  access,
  readlink,
  read,
  write,
  create,  // makes a file, or truncates an existing one if there are enough files
  remove,  // removes a file, a hard link, a symlink or a pipe
  rename,
  link,
  symlink,
  mkdir,
  rmdir,
  mknod,
  readdir,
  readdirplus,
  fsstat,
  fsinfo,
  pathconf,
  commit,
  open,  // version 4: opens an existing file, or makes one
  close,
  make,        // version 4 CREATE: makes a directory, symlink or pipe
  remove_any,  // version 4 REMOVE: removes directories, too
  lock,
  test_lock,
  unlock,
  allocate,
  deallocate,
  seek,
  copy,
};

struct PlannedProcedure {
  std::string name;  // as in the mix
  Action action = Action::null;
  bool internal = false;   // clients add it by themselves; it has no share
  bool expressed = false;  // `action` is issued for it
  double asked = 0;        // requested share among procedures that are not internal, 0..1
  double planned = 0;      // share of the calls that are dealt
  std::string why;         // reason why the share is reduced
};

struct MixPlan {
  unsigned nfs_version = 3;
  bool past_cache = false;                   // true: the calls must get past the caches of the target's client
  std::vector<PlannedProcedure> procedures;  // in the order of the mix
  MixTraits traits;                          // of the mix
  std::vector<std::string> notes;            // one line each: what differs from the requested mix
  double share(Action action) const;         // planned share
};

// True if streams of this plan remove what they make.
bool plan_removes(const MixPlan& plan);

// Makes the plan. `shared`: the streams share directories. Throws std::runtime_error if the target can issue nothing of the mix.
MixPlan plan_mix(const Mix& mix, const Target& target, bool shared = false);

}  // namespace fsr
