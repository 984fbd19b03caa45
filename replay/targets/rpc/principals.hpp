// SPDX-License-Identifier: Apache-2.0
// The Kerberos principals that stand for the recorded users of a run (--uid map=FILE), by Credentials::principal. Says whether
// operations of a user can be issued, and counts those that can't. Thread-safe after try_all().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
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

  // Gets each user's ticket for the server, so that the first operation of a user needs no KDC. There is no second attempt for a
  // user who gets none. Once one has waited for a KDC in vain, the others of the realm get none either. Ends early if the
  // client's own user has no ticket, which the set-up reports, or if the program is to end.
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
    int error = 0;       // errno; 0: there is a ticket
    std::string reason;  // of `error`
    uint64_t withheld = 0;
  };

  mutable std::mutex mutex_;  // of `withheld` and what follows
  std::vector<User> users_;
  uint64_t unmapped_ = 0;        // operations of users without a line in the map
  uint32_t first_unmapped_ = 0;  // uid of the first
};

}  // namespace fsr::rpc
