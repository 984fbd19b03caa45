// SPDX-License-Identifier: Apache-2.0
// The clients at which owners of record locks have their locks. To a server, equal owners of two clients are two owners, which
// exclude each other. So all locks of an owner on one file belong to the client that got the first one. Another client may have
// opened the file through which the owner asks for more. Protected by the connection's mutex.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "op.hpp"

namespace fsr {

class LockHomes {
 public:
  // Begins an operation on the owner's locks, which end() ends. Returns the client that must perform it. `client`: the one that
  // opened the file. `holds(k)`: the owner still has locks at client k.
  template <class Holds>
  uint32_t begin(ObjectId object, uint64_t owner, uint32_t client, Holds holds) {
    Home& home = homes_.try_emplace({object, owner}, Home{client}).first->second;
    if (home.asked == 0 && home.client != client && !holds(home.client)) home.client = client;
    ++home.asked;
    return home.client;
  }
  template <class Holds>
  void end(ObjectId object, uint64_t owner, Holds holds) {
    const auto it = homes_.find({object, owner});
    if (it == homes_.end()) return;
    Home& home = it->second;
    if (--home.asked == 0 && !holds(home.client)) homes_.erase(it);
  }
  // After an open file of the object was closed, which ends locks that no request named. `holds(owner, k)`: as above.
  template <class Holds>
  void closed(ObjectId object, Holds holds) {
    for (auto it = homes_.lower_bound({object, 0}); it != homes_.end() && it->first.first == object;) {
      const Home& home = it->second;
      it = home.asked == 0 && !holds(it->first.second, home.client) ? homes_.erase(it) : std::next(it);
    }
  }
  size_t size() const { return homes_.size(); }

 private:
  struct Home {
    uint32_t client;
    uint32_t asked = 0;  // operations under way
  };
  std::map<std::pair<ObjectId, uint64_t>, Home> homes_;
};

}  // namespace fsr
