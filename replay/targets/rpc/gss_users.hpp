// SPDX-License-Identifier: Apache-2.0
// The security contexts of one client, by user. A principal of the map of users has contexts from its first request on. Used by
// one thread at a time, as the client's channels are.
#pragma once

#include <cstdint>
#include <map>

#include "targets/rpc/gss_client.hpp"

namespace fsr::rpc {

class GssUsers {
 public:
  // The parameters are those of GssClient, for the client's own user.
  GssUsers(const Security& security, const nfs::Procedure& null, int64_t timeout, Clock& clock, GssCounters& counters)
      : security_(security),
        null_(null),
        timeout_(timeout),
        clock_(clock),
        counters_(counters),
        own_(security, null, timeout, clock, counters) {}

  GssClient& own() { return own_; }
  const GssClient& own() const { return own_; }
  // Returns the user's, which stays where it is. `principal`: Identity::principal; 0: the client's own user.
  GssClient& of(uint32_t principal) {
    if (principal == 0) return own_;
    const auto at = others_.find(principal);
    if (at != others_.end()) return at->second;
    return others_.try_emplace(principal, security_.of_user(principal), null_, timeout_, clock_, counters_).first->second;
  }
  // As GssClient::end(), for all users.
  void end(wire::Channel& channel) {
    for (auto& [principal, client] : others_) client.end(channel);
    own_.end(channel);
  }

 private:
  const Security security_;
  const nfs::Procedure null_;
  const int64_t timeout_;
  Clock& clock_;
  GssCounters& counters_;
  GssClient own_;
  std::map<uint32_t, GssClient> others_;
};

}  // namespace fsr::rpc
