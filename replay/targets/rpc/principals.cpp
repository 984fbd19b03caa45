// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/principals.hpp"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/added_lookup.hpp"
#include "base/clock.hpp"
#include "base/target.hpp"
#include "base/withheld.hpp"
#include "targets/rpc/gss_context.hpp"

namespace fsr::rpc {

constexpr size_t kNamed = 10;  // users whose operations have counters of their own
constexpr int64_t kFirstPause = 1'000'000'000, kLongestPause = 64'000'000'000;  // ns between attempts to get a user's ticket

Principals::Principals(std::vector<std::string> names) {
  for (std::string& name : names) users_.emplace_back().name = std::move(name);
}

void Principals::try_all(const Security& security, Clock& clock) {
  clock_ = &clock;
  const int64_t begun = clock.now();
  try {
    GssContext(security).next_token({});
  } catch (const GssError&) {
    return;
  }
  for (uint32_t n = 1; n <= users_.size() && !clock.given_up(begun); ++n) {
    Security of_user = security.of_user(n);
    of_user.users = nullptr;  // it would own this object
    try_user(users_[n - 1], std::move(of_user));
  }
}

void Principals::try_user(User& user, Security security) {
  try {
    GssContext(security).next_token({});
    user.error = 0;
  } catch (const GssError& e) {
    const std::lock_guard lock(mutex_);
    user.error = e.error;
    user.reason = e.what();
    if (!e.kdc_is_silent) return;
    user.pause = std::clamp(2 * user.pause, kFirstPause, kLongestPause);
    user.next = clock_->now() + user.pause;
    user.again = std::move(security);
  }
}

// Returns the errno of a user's operation. 0: there is a ticket. Tries to get one if an attempt is due.
int Principals::error_of(User& user) {
  if (user.error == 0) return 0;
  std::unique_lock lock(mutex_);
  if (!user.again || clock_->now() < user.next) return user.error;
  Security security = *std::exchange(user.again, std::nullopt);
  ++attempts_;
  lock.unlock();
  try_user(user, std::move(security));
  if (user.error != 0) return user.error;
  lock.lock();
  ++late_;
  return 0;
}

int Principals::withhold(TargetRequest& request) {
  const uint32_t n = request.who.principal;
  const int error = n == 0 ? 0 : n == kNoPrincipal ? EKEYREJECTED : error_of(users_[n - 1]);
  if (error == 0) return 0;
  request.outcome.withheld = true;
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
  if (attempts_) all->emplace_back("attempts in mid-run to get a ticket of a user whose KDC did not reply before", attempts_);
  if (late_) all->emplace_back("users whose tickets came in mid-run, because their KDC did not reply before", late_);
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
