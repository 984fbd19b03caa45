// SPDX-License-Identifier: Apache-2.0
// Open files and locks of NFSv4, by the state ids that servers gave them. One thread. Memory follows what is open.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nfs/nfs4.hpp"
#include "op.hpp"

namespace fsr::capture {

class Nfs4States {
 public:
  // An OPEN was granted; a further one of the same file by the same owner shares the state.
  void opened(const nfs4::Stateid& state, ObjectId object, HandleId handle);
  void delegated(const nfs4::Stateid& delegation, ObjectId object, HandleId handle);  // reads and writes may come by its id
  void locked(const nfs4::Stateid& lock, const nfs4::Stateid& open, uint64_t owner);  // the first lock of `owner`
  // Ends this state. Returns its open instances, the oldest first; empty if no OPEN of it was seen.
  std::vector<HandleId> closed(const nfs4::Stateid& state);
  void forget(const nfs4::Stateid& state) { states_.erase(state.other); }

  HandleId handle(const nfs4::Stateid& state) const;  // the latest open instance; 0: a special state id, or an unknown one
  uint64_t lock_owner(const nfs4::Stateid& state) const;
  uint64_t owner(int32_t client, std::string_view name);  // a number for each, from 1
  template <class Each>
  void each_open(Each each) const {
    for (const auto& [id, s] : states_)
      if (s.open)
        for (HandleId h : s.handles) each(s.object, h);
  }

 private:
  using Id = std::array<char, 12>;
  struct State {
    ObjectId object = kNoObject;
    std::vector<HandleId> handles;
    uint64_t owner = 0;
    bool open = false;      // not a lock, not a delegation
    std::vector<Id> locks;  // of an open
  };
  std::map<Id, State> states_;
  std::map<std::pair<int32_t, std::string>, uint64_t> owners_;
};

}  // namespace fsr::capture
