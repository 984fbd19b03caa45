// SPDX-License-Identifier: Apache-2.0
// Spares users waits for a KDC that does not reply, each of which takes many seconds. After one wait in vain, the others of the
// realm fail at once for a while, except those who still have a ticket. Not thread-safe. Times are ns on any one clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace fsr::rpc {

class KdcSilence {
 public:
  static constexpr int64_t kMost = 30'000'000'000;  // ns without attempts

  // Called when an attempt that began at `begun` got no reply until `now`. The pause is three times as long as the attempt, so
  // that waits take a quarter of the time. A refused connection takes no time, so no pause follows.
  void noticed(const std::string& realm, int64_t begun, int64_t now) { until_[realm] = now + std::min(3 * (now - begun), kMost); }
  // Called when the KDC has given a ticket.
  void ended(const std::string& realm) { until_.erase(realm); }
  bool holds(const std::string& realm, int64_t now) const {
    const auto at = until_.find(realm);
    return at != until_.end() && now < at->second;
  }

  // Notes until when the ticket of a user is good. True: it is a newer one than before.
  bool got_ticket(uint32_t user, int64_t until) {
    constexpr int64_t kSame = 2'000'000'000;  // ns by which rounding moves the end of one ticket
    int64_t& known = tickets_[user];
    return std::exchange(known, until) + kSame < until;
  }
  bool has_ticket(uint32_t user, int64_t now) const {
    const auto at = tickets_.find(user);
    return at != tickets_.end() && now < at->second;
  }

 private:
  std::map<std::string, int64_t> until_;  // by realm; "": the default one
  std::map<uint32_t, int64_t> tickets_;   // ends of tickets, by Security::user
};

}  // namespace fsr::rpc
