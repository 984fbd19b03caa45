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

#include "targets/rpc/gss_client.hpp"

namespace fsr {
struct TargetRequest;
}

namespace fsr::rpc {

// Tells whether an operation could send requests under its user's security context.
struct ContextUse {
  bool sent = false;    // at least one was sent
  std::string problem;  // why one had no security context; empty: it had
  bool lacked() const { return !sent && !problem.empty(); }
  // Called for a request that got no reply, with its errno. `gss`: protects it; null: nothing does.
  void failed(const wire::Exchange& x, const GssClient* gss, int error);
};
  unsigned size() const { return unsigned(users_.size()); }

class Principals {
 public:
  explicit Principals(std::vector<std::string> names);

  // Gets each user's ticket for the server, so that the first operation of a user needs no KDC. There is no second attempt for a
  // user who gets none. Ends early if the client's own user has no ticket, which the set-up reports, or if the program is to end.
  void try_all(const Security& security, Clock& clock);
  const std::string& name(uint32_t number) const { return users_.at(number - 1).name; }
  // Returns 0 if an operation may be sent. Otherwise the operation must end with the returned errno, and was counted; its outcome
  // says that it was withheld.
  int withhold(TargetRequest& request);
  // The same for an operation for which nothing was sent, because no security context could be made in mid-run.
  void count_withheld(TargetRequest& request, const std::string& reason);
  // Appends the counters to those of a target, with the reasons in the names.
  void list(std::vector<std::pair<std::string, uint64_t>>* all) const;

 private:
  struct User {
    std::string name;
    int error = 0;       // errno; 0: there is a ticket
    std::string reason;  // of the first operation that was not issued, because names of counters must stay; of try_all()
    uint64_t withheld = 0;
  };

  mutable std::mutex mutex_;  // of `reason`, `withheld` and what follows
  std::vector<User> users_;
  uint64_t unmapped_ = 0;        // operations of users without a line in the map
  uint32_t first_unmapped_ = 0;  // uid of the first
};

}  // namespace fsr::rpc
