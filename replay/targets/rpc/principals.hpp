// SPDX-License-Identifier: Apache-2.0
// The Kerberos principals that stand for the recorded users of a run (--uid map=FILE), by Credentials::principal. Says whether
// operations of a user can be issued, and counts those that can't. Thread-safe after try_all().
//
// A user whose KDC did not reply is tried again by a later operation of that user, after a pause that doubles. The thread of that
// operation waits for the KDC, up to the limits of krb5.conf(5). Operations of the same user on other threads are not issued
// meanwhile. See kdc_silence.hpp for what limits the waits of all users.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "targets/rpc/security.hpp"

namespace fsr {
class Clock;
struct TargetRequest;
}  // namespace fsr

namespace fsr::rpc {

class Principals {
 public:
  explicit Principals(std::vector<std::string> names);

  // Gets each user's ticket for the server, so that the first operation of a user needs no KDC. Once one has waited for a KDC in
  // vain, the others of the realm get none either. Ends early if the client's own user has no ticket, which the set-up reports,
  // or if the program is to end. `clock` must outlive the object.
  void try_all(const Security& security, Clock& clock);
  unsigned size() const { return unsigned(users_.size()); }
  const std::string& name(uint32_t number) const { return users_.at(number - 1).name; }
  // Returns 0 if an operation may be sent. Otherwise the operation must end with the returned errno, and was counted unless the
  // replay added it; its outcome says that it was withheld.
  int withhold(TargetRequest& request);
  // Appends the counters to those of a target, with the reasons in the names.
  void list(std::vector<std::pair<std::string, uint64_t>>* all) const;

 private:
  struct User {
    std::string name;
    std::atomic<int> error = 0;  // errno; 0: there is a ticket
    // With mutex_:
    std::string reason;             // of the last `error`
    uint64_t withheld = 0;          // operations
    std::optional<Security> again;  // of the user, for the next attempt; none: no attempt follows, or it is being made
    int64_t pause = 0, next = 0;    // ns: from an attempt in vain to the next one; time from which that is made
  };

  void try_user(User& user, Security security);
  int error_of(User& user);

  Clock* clock_ = nullptr;
  std::deque<User> users_;
  mutable std::mutex mutex_;
  uint64_t attempts_ = 0, late_ = 0;  // attempts after try_all(); users who got their tickets by them
  uint64_t unmapped_ = 0;             // operations of users without a line in the map
  uint32_t first_unmapped_ = 0;       // uid of the first
};

}  // namespace fsr::rpc
