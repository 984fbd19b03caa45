// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/principals.hpp"

#include <errno.h>
#include <fmt/format.h>

#include "base/added_lookup.hpp"
#include "base/clock.hpp"
#include "base/target.hpp"
#include "base/withheld.hpp"
#include "targets/rpc/gss_context.hpp"

namespace fsr::rpc {

constexpr size_t kNamed = 10;  // users whose operations have counters of their own

Principals::Principals(std::vector<std::string> names) {
  for (std::string& name : names) users_.push_back({.name = std::move(name), .error = 0, .reason = {}});
}

void Principals::try_all(const Security& security, Clock& clock) {
  const int64_t begun = clock.now();
  try {
    GssContext(security).next_token({});
  } catch (const GssError&) {
    return;
  }
  for (uint32_t n = 1; n <= users_.size() && !clock.given_up(begun); ++n) {
    User& user = users_[n - 1];
    try {
      GssContext(security.of_user(n)).next_token({});
    } catch (const GssError& e) {
      user.error = e.error;
      user.reason = e.what();
    }
  }
}

int Principals::withhold(TargetRequest& request) {
  const uint32_t n = request.who.principal;
  if (n == 0 || (n != kNoPrincipal && users_[n - 1].error == 0)) return 0;
  request.outcome.withheld = true;
  const int error = n == kNoPrincipal ? EKEYREJECTED : users_[n - 1].error;
  if (is_added_lookup(*request.op)) return error;  // no operation of the trace
  std::lock_guard lock(mutex_);
  if (n != kNoPrincipal)
    ++users_[n - 1].withheld;
  else if (unmapped_++ == 0)
    first_unmapped_ = request.who.uid;
  return error;
}

void Principals::list(std::vector<std::pair<std::string, uint64_t>>* all) const {
  std::lock_guard lock(mutex_);
  const std::string begin(kWithheld);
  if (unmapped_)
    all->emplace_back(
        fmt::format("{}the map of users has no principal for their user (uid {} was the first)", begin, first_unmapped_),
        unmapped_);
  size_t named = 0;
  uint64_t others = 0;
  for (const User& user : users_)
    if (user.withheld && ++named <= kNamed)
      all->emplace_back(begin + user.name + ": " + user.reason, user.withheld);
    else
      others += user.withheld;
  if (others) all->emplace_back(begin + "no tickets of further users", others);
}

}  // namespace fsr::rpc
