// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/late_tickets.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "catch.hpp"

namespace fsr::late_tickets_test {

using fsr::rpc::LateTickets;
using namespace std::chrono_literals;
using Time = std::chrono::steady_clock::time_point;

namespace {

// Attempts in the order in which they were made. The KDC of all realms replies when `silent` attempts have been made.
class Kdc {
 public:
  explicit Kdc(size_t silent) : silent_(silent) {}
  bool attempt(uint32_t user) {
    const Time begun = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    under_way_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !stands_; });
    users_.push_back(user);
    begun_.push_back(begun);
    ended_.push_back(std::chrono::steady_clock::now());
    under_way_ = false;
    changed_.notify_all();
    return users_.size() > silent_;
  }
  // Holds the replies to all attempts, or gives them.
  void stand(bool still) {
    std::lock_guard lock(mutex_);
    stands_ = still;
    changed_.notify_all();
  }
  bool await_under_way() {
    return await([this] { return under_way_; });
  }
  bool await_attempts(size_t n) {
    return await([this, n] { return users_.size() >= n; });
  }
  std::vector<uint32_t> users() {
    std::lock_guard lock(mutex_);
    return users_;
  }
  // The time between the end of an attempt and the next one.
  std::chrono::nanoseconds pause_after(size_t n) {
    std::lock_guard lock(mutex_);
    return begun_.at(n) - ended_.at(n - 1);
  }

 private:
  template <class Condition>
  bool await(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, condition);
  }

  const size_t silent_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stands_ = false, under_way_ = false;
  std::vector<uint32_t> users_;
  std::vector<Time> begun_, ended_;
};

LateTickets::Attempt attempts_at(const std::shared_ptr<Kdc>& kdc) {
  return [kdc](uint32_t user) { return kdc->attempt(user); };
}

}  // namespace

TEST_CASE("users whose KDC is silent are tried in turn, with pauses that double, until all have tickets", "[threads]") {
  const auto kdc = std::make_shared<Kdc>(4);
  LateTickets late({{"A", {1, 2, 3}}}, attempts_at(kdc), 4ms);
  REQUIRE(kdc->await_attempts(7));
  CHECK(kdc->users() == std::vector<uint32_t>{1, 2, 3, 1, 2, 3, 1});
  for (size_t n = 1; n <= 4; ++n) CHECK(kdc->pause_after(n) >= 4ms * (1 << n));
  late.end();
  CHECK(kdc->users().size() == 7);
}

TEST_CASE("pauses between attempts to get tickets have a limit, and each realm has its own", "[threads]") {
  const auto kdc = std::make_shared<Kdc>(SIZE_MAX);
  LateTickets late({{"A", {1}}, {"B", {2}}}, attempts_at(kdc), 100us);
  CHECK(kdc->await_attempts(40));  // in minutes without the limit
  late.end();
  const std::vector<uint32_t> users = kdc->users();
  for (uint32_t user : {1u, 2u}) CHECK(std::count(users.begin(), users.end(), user) >= 15);
}

TEST_CASE("who ends the attempts to get tickets waits for none", "[threads]") {
  const auto kdc = std::make_shared<Kdc>(SIZE_MAX);
  {
    LateTickets late({{"A", {1, 2}}}, attempts_at(kdc), 1h);
    CHECK(late.end());
    CHECK(late.end());
  }
  CHECK(kdc->users().empty());
  kdc->stand(true);
  auto late = std::make_unique<LateTickets>(std::map<std::string, std::deque<uint32_t>>{{"A", {1, 2}}}, attempts_at(kdc), 1us);
  REQUIRE(kdc->await_under_way());
  CHECK_FALSE(late->end());
  late.reset();
  kdc->stand(false);
  REQUIRE(kdc->await_attempts(1));
  const std::weak_ptr<Kdc> held = kdc;
  for (int i = 0; held.use_count() > 1 && i < 20'000; ++i) std::this_thread::sleep_for(1ms);
  CHECK(held.use_count() == 1);  // the thread has ended
  CHECK(kdc->users().size() == 1);
}

}  // namespace fsr::late_tickets_test
