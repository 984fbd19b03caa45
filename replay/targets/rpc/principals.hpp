// SPDX-License-Identifier: Apache-2.0
// The Kerberos principals that stand for the recorded users of a run (--uid map=FILE), by Credentials::principal. Says whether
// operations of a user can be issued, and counts those that can't. Thread-safe after try_all().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "targets/rpc/late_tickets.hpp"
#include "targets/rpc/security.hpp"

namespace fsr {
class Clock;
struct TargetRequest;
}  // namespace fsr

namespace fsr::rpc {

class Principals {
 public:
  explicit Principals(std::vector<std::string> names);
  ~Principals();

  // Gets each user's ticket for the server, so that the first operation of a user needs no KDC. Once one has waited for a
  // KDC in vain, the others of the realm get none either. A thread of its own tries these again, and nobody else who gets none.
  // Ends early if the client's own user has no ticket, which the set-up reports, or if the program is to end.
  void try_all(const Security& security, Clock& clock);
  unsigned size() const { return unsigned(all_->users.size()); }
  const std::string& name(uint32_t number) const { return all_->users.at(number - 1).name; }
  // Returns 0 if an operation may be sent. Otherwise the operation must end with the returned errno, and was counted unless the
  // replay added it; its outcome says that it was withheld.
  int withhold(TargetRequest& request);
  // Appends the counters to those of a target, with the reasons in the names.
  void list(std::vector<std::pair<std::string, uint64_t>>* counters) const;

 private:
  struct User {
    std::string name;
    std::atomic<int> error = 0;  // errno; 0: there is a ticket
    // With `mutex`:
    std::string reason;  // of the last `error`
    uint64_t withheld = 0;
  };
  // State that an attempt may use after the end of this object.
  struct All {
    explicit All(size_t n) : users(n) {}
    // Both: false: no KDC replied, so that a later attempt may succeed.
    bool get_ticket(const Security& of_user, bool late);
    bool get_late(Security security, uint32_t number);  // `security`: of any user

    std::vector<User> users;
    std::mutex mutex;                             // of what follows
    uint64_t silent = 0, attempts = 0, came = 0;  // users whom `late_` tries, its attempts, and the tickets that came by them
    uint64_t unmapped = 0;                        // operations of users without a line in the map
    uint32_t first_unmapped = 0;                  // uid of the first
  };

  const std::shared_ptr<All> all_;
  std::optional<LateTickets> late_;  // none: no KDC was silent
};

}  // namespace fsr::rpc
