// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/principals.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <deque>
#include <map>

#include "base/added_lookup.hpp"
#include "base/clock.hpp"
#include "base/target.hpp"
#include "base/withheld.hpp"
#include "targets/rpc/gss_context.hpp"
#include "util/debug_log.hpp"

namespace fsr::rpc {

constexpr size_t kNamed = 10;  // users whose operations have counters of their own

Principals::Principals(std::vector<std::string> names) : all_(std::make_shared<All>(names.size())) {
  for (size_t i = 0; i < names.size(); ++i) all_->users[i].name = std::move(names[i]);
}

// Libraries must not end while a thread is in one of them: the program then ends without that.
Principals::~Principals() {
  if (late_ && !late_->end())
    on_exit(
        [](int status, void*) {
          flush_log();
          fflush(nullptr);
          _exit(status);
        },
        nullptr);
}

bool Principals::All::get_ticket(const Security& of_user, bool late) {
  User& user = users[of_user.user - 1];
  try {
    GssContext context(of_user);
    late ? context.fetch_ticket() : void(context.next_token({}));
    user.error = 0;
    return true;
  } catch (const GssError& e) {
    const std::lock_guard lock(mutex);
    user.error = e.error;
    user.reason = e.what();
    return !e.kdc_is_silent;
  }
}

bool Principals::All::get_late(Security security, uint32_t number) {
  security.user = number;
  security.principal = users[number - 1].name;
  std::unique_lock lock(mutex);
  ++attempts;
  lock.unlock();
  const bool over = get_ticket(security, true);
  lock.lock();
  came += users[number - 1].error == 0;
  return over;
}

void Principals::try_all(const Security& security, Clock& clock) {
  const int64_t begun = clock.now();
  try {
    GssContext(security).next_token({});
  } catch (const GssError&) {
    return;
  }
  std::map<std::string, std::deque<uint32_t>> silent;  // users, by realm
  for (uint32_t n = 1; n <= size() && !clock.given_up(begun); ++n) {
    const Security of_user = security.of_user(n);
    if (all_->get_ticket(of_user, false)) continue;
    silent[of_user.realm()].push_back(n);
    ++all_->silent;
  }
  if (silent.empty()) return;
  Security own = security;
  own.users = nullptr;  // it would own this object
  late_.emplace(std::move(silent), [all = all_, own](uint32_t n) { return all->get_late(own, n); });
}

int Principals::withhold(TargetRequest& request) {
  const uint32_t n = request.who.principal;
  const int error = n == 0 ? 0 : n == kNoPrincipal ? EKEYREJECTED : all_->users[n - 1].error.load();
  if (error == 0) return 0;
  request.outcome.withheld = true;
  if (is_added_lookup(*request.op)) return error;  // no operation of the trace
  std::lock_guard lock(all_->mutex);
  if (n != kNoPrincipal)
    ++all_->users[n - 1].withheld;
  else if (all_->unmapped++ == 0)
    all_->first_unmapped = request.who.uid;
  return error;
}

void Principals::list(std::vector<std::pair<std::string, uint64_t>>* counters) const {
  std::lock_guard lock(all_->mutex);
  if (late_) {
    counters->emplace_back("users without a ticket at first, because no KDC replied", all_->silent);
    counters->emplace_back("users without a ticket at first who got one later", all_->came);
    counters->emplace_back("later attempts to get a ticket", all_->attempts);
  }
  const std::string begin(kWithheld);
  if (all_->unmapped)
    counters->emplace_back(
        fmt::format("{}the map of users has no principal for their user (uid {} was the first)", begin, all_->first_unmapped),
        all_->unmapped);
  size_t named = 0;
  uint64_t others = 0;
  for (const User& user : all_->users)
    if (user.withheld && ++named <= kNamed)
      counters->emplace_back(begin + user.name + ": " + user.reason, user.withheld);
    else
      others += user.withheld;
  if (others) counters->emplace_back(begin + "no tickets of further users", others);
}

}  // namespace fsr::rpc
