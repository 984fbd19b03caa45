// SPDX-License-Identifier: Apache-2.0
// Gets tickets for users whose KDC has not replied, on a thread of its own that lasts until each user has one or is refused. The
// users of a realm are tried in turn. After an attempt without a reply the realm has a pause, which doubles from attempt to
// attempt. Used by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

namespace fsr::rpc {

class LateTickets {
 public:
  // Tries to get a user's ticket, and waits for the KDC. False: it did not reply; true: no attempt follows. Owns what it uses,
  // because it may outlive this object.
  using Attempt = std::function<bool(uint32_t user)>;
  static constexpr int kLongestPause = 64;  // in first pauses

  // `users`: by realm, each with one user at least. The first pause begins now.
  LateTickets(std::map<std::string, std::deque<uint32_t>> users, Attempt attempt,
              std::chrono::nanoseconds first_pause = std::chrono::seconds(1));
  ~LateTickets() { end(); }
  LateTickets(const LateTickets&) = delete;
  LateTickets& operator=(const LateTickets&) = delete;

  // Begins no attempt from now on. False: one is under way, and goes on in a detached thread.
  bool end();

 private:
  struct State;
  std::shared_ptr<State> state_;  // the thread's, too
  std::thread thread_;
};

}  // namespace fsr::rpc
