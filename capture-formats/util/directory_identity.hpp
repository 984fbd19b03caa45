// SPDX-License-Identifier: Apache-2.0
// Which directory of which machine a path leads to, whatever its name: by device and inode, and by its path within its file
// system. Two names of a directory can be recognized, also through another mount. No state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fsr {

struct InodeIdentity {
  uint64_t device = 0, inode = 0;  // as stat(2) has them
  int64_t born = 0;                // ns since 1970, because inodes are used again; 0: not known
  bool operator==(const InodeIdentity& other) const;
};

struct DirectoryIdentity {
  std::string machine;  // random id of the running kernel; empty: nothing is known
  InodeIdentity self;
  std::string path;                  // from the root of a local file system; empty: not known
  std::vector<InodeIdentity> above;  // the directories above, nearest first
};

// Returns the identity of the directory `fd`, which may be O_PATH. Empty `machine`: it can't be found.
DirectoryIdentity directory_identity(int fd);
// Returns the identity of a directory. If it does not exist: of the nearest one above that does, and sets `missing`.
DirectoryIdentity directory_identity(const std::string& directory, bool& missing);

enum class DirectoryRelation : uint8_t { apart, same, inside, contains };
// Returns how `other` lies to `directory`: inside of it, or it contains it. `apart` as well if one of them is not known, or is on
// another machine.
DirectoryRelation directory_relation(const DirectoryIdentity& other, const DirectoryIdentity& directory);

}  // namespace fsr
