// SPDX-License-Identifier: Apache-2.0
// Maps recorded users to the users as which a replay acts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/target.hpp"

namespace fsr {

class CredentialMap {
 public:
  enum class To : uint8_t {
    accounts,   // numbers or names of this host
    principals  // of Kerberos
  };
  // Maps every user to itself.
  CredentialMap() = default;
  // Reads lines "uid[:gid] newuid[:newgid]", by number or name of this host; '#' starts a comment. Without a gid the line holds
  // for every group of that user; without a new gid the recorded one stays. Users without a line stay as recorded.
  //
  // `to` principals: reads lines "uid[:gid] principal". Each user has one line at most; those without one get kNoPrincipal.
  //
  // Throws std::runtime_error "FILE:LINE: ...".
  static CredentialMap from_file(const std::string& path, To to = To::accounts);
  static CredentialMap parse(const std::string& text, const std::string& name, To to = To::accounts);

  Credentials map(uint32_t uid, uint32_t gid) const;
  const std::vector<std::string>& principals() const { return principals_; }  // each once, by Credentials::principal - 1

 private:
  struct Entry {
    uint32_t uid = 0;
    int64_t gid = -1;  // negative: the recorded gid stays
    uint32_t principal = 0;
  };
  uint32_t number_of(const std::string& principal);

  To to_ = To::accounts;
  std::unordered_map<uint64_t, Entry> exact_;  // uid << 32 | gid
  std::unordered_map<uint32_t, Entry> users_;
  std::vector<std::string> principals_;
  std::unordered_map<std::string, uint32_t> numbers_;  // of principals_
};

}  // namespace fsr
