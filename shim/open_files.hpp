// SPDX-License-Identifier: Apache-2.0
// How many files each user has open. All of them are open in this process, too, and one user must not take the descriptors that
// the others need. Root is never refused. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <unordered_map>

namespace fsr::shim {

class OpenFiles {
 public:
  struct Limits {
    size_t one_user, all_users;
  };
  explicit OpenFiles(Limits limits) : limits_(limits) {}
  bool may_open(uid_t uid) const {
    if (uid == 0) return true;
    auto at = by_user_.find(uid);
    return all_ < limits_.all_users && (at == by_user_.end() || at->second < limits_.one_user);
  }
  void opened(uid_t uid) {
    if (uid == 0) return;
    ++by_user_[uid];
    ++all_;
  }
  void closed(uid_t uid) {
    if (uid == 0) return;
    if (auto at = by_user_.find(uid); --at->second == 0) by_user_.erase(at);
    --all_;
  }

 private:
  const Limits limits_;
  size_t all_ = 0;
  std::unordered_map<uid_t, size_t> by_user_;
};

}  // namespace fsr::shim
