// SPDX-License-Identifier: Apache-2.0
// Maps recorded users to the users as which a replay acts.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/target.hpp"

namespace fsr {

class CredentialMap {
 public:
  // Maps every user to itself.
  CredentialMap() = default;
  // Reads lines "uid[:gid] newuid[:newgid]", by number or name of this host; '#' starts a comment. Without a gid the line holds
  // for every group of that user; without a new gid the recorded one stays. Users without a line stay as recorded. Throws
  // std::runtime_error "FILE:LINE: ...".
  static CredentialMap from_file(const std::string& path);
  static CredentialMap parse(const std::string& text, const std::string& name);

  Credentials map(uint32_t uid, uint32_t gid) const;

 private:
  struct Entry {
    uint32_t uid = 0;
    int64_t gid = -1;  // negative: the recorded gid stays
  };
  std::unordered_map<uint64_t, Entry> exact_;  // uid << 32 | gid
  std::unordered_map<uint32_t, Entry> users_;
};

}  // namespace fsr
