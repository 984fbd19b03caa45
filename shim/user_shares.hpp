// SPDX-License-Identifier: Apache-2.0
// Counts how much of a limited resource of this process each user occupies: descriptors, or threads for lock requests that wait.
// One user must not take what all others need. Root is never refused. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <unordered_map>

namespace fsr::shim {

class UserShares {
 public:
  struct Limits {
    size_t one_user, all_users;
  };
  explicit UserShares(Limits limits) : limits_(limits) {}
  bool may_take(uid_t uid) const {
    if (uid == 0) return true;
    auto at = by_user_.find(uid);
    return all_ < limits_.all_users && (at == by_user_.end() || at->second < limits_.one_user);
  }
  void take(uid_t uid) {
    if (uid == 0) return;
    ++by_user_[uid];
    ++all_;
  }
  // False: this user, or all users together, have reached their limit.
  bool try_take(uid_t uid) {
    const bool may = may_take(uid);
    if (may) take(uid);
    return may;
  }
  void give_back(uid_t uid) {
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
