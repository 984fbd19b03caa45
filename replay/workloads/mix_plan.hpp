// SPDX-License-Identifier: Apache-2.0
// Turns a mix into shares that can be kept up: the action that stands for each procedure, and its share.
//
// A load that goes on for ever must remove what it makes and make what it removes. If a mix has more of one than of the other,
// the larger share is reduced to the smaller one. Inexpressible procedures get the share 0. The difference goes to the other
// procedures in proportion, and is reported. Procedures that a client of version 4 adds by itself (PUTFH, GETFH, SEQUENCE, ...)
// have no share. Made once, then constant.
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
  create,  // makes a file, or truncates one where none is wanted
  remove,  // of a file, a hard link, a symlink or a pipe
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
  open,  // version 4: of a file that is there, or of one that it makes
  close,
  make,        // version 4 CREATE: of a directory, symlink or pipe
  remove_any,  // version 4 REMOVE: also of directories
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
  bool internal = false;   // a client's own business, no load by itself: not asked for
  bool expressed = false;  // `action` stands for it
  double asked = 0;        // share of what is not internal, 0..1
  double planned = 0;      // share dealt
  std::string why;         // it is cut
};

struct MixPlan {
  unsigned nfs_version = 3;
  bool past_cache = false;                   // calls are for a client whose caches they must get past
  std::vector<PlannedProcedure> procedures;  // in the order of the mix
  MixTraits traits;                          // as the mix says
  std::vector<std::string> notes;            // one line each: what could not be as asked
  double share(Action action) const;         // planned
};

// Whether streams of that plan remove what they make.
bool plan_removes(const MixPlan& plan);

// Throws std::runtime_error when nothing of the mix can be issued on the target.
MixPlan plan_mix(const Mix& mix, const Target& target);

}  // namespace fsr
