// SPDX-License-Identifier: Apache-2.0
// A cluster in which all messages go to or from the root, but for those that are posted to the first rank of a host.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "cluster/transport.hpp"

namespace fsr {

class StarCluster final : public Cluster {
 public:
  // Collective: the ranks exchange their host names. `timeout`: ns.
  StarCluster(std::unique_ptr<Transport> transport, int64_t timeout);

  unsigned rank() const override { return transport_->rank(); }
  unsigned size() const override { return transport_->size(); }
  const std::vector<std::string>& hosts() const override { return hosts_; }
  std::vector<std::string> gather(std::string_view mine) override;
  GatherResult gather_left(std::string_view mine) override;
  std::string broadcast(std::string_view of_root) override;
  ClockOffset compare_clocks() override;
  bool post(unsigned to, std::string_view mine) override;
  std::optional<std::pair<unsigned, std::string>> take(int64_t wait) override;
  const std::vector<bool>& missing() const override { return missing_; }
  bool dismissed() const override { return !root() && (told_lost_ || gone_[0]); }
  void send_heartbeat() override;
  void listen() override;
  bool overdue() const override;
  int64_t heartbeat_interval() const override;

 private:
  // First byte of each message: its kind.
  static constexpr char kAlive = 'a', kData = 'd', kLost = 'l', kPosted = 'p';

  static int64_t now();  // of this rank's monotonic clock, ns
  // Returns the next text from `rank`. Throws LostRank, without reporting the loss to the other ranks. `from`: start of the wait,
  // ns. `awake`: as for next_of().
  std::string wait_for(unsigned rank, int64_t from, int64_t awake);
  // Returns the next text from `rank`. `awake`: ns of polling before sleeping, for an answer whose time is measured. Reports a
  // lost rank to the other ranks.
  std::string next_of(unsigned rank, int64_t awake = 0);
  class ClockQuestions;
  void ask_for_clocks();
  // On the root: finds the ranks that are missing. send_heartbeat() tells the others.
  void look_for_missing();
  std::optional<Transport::Message> receive(int64_t timeout);
  void take_in(Transport::Message message);
  void send(unsigned to, char kind, std::string_view text);
  bool offer(unsigned to, char kind, std::string_view text);
  void note_sent(unsigned to, int64_t at);
  // Throws LostRank if `rank` has exited, or if the timeout has passed since both `from` and its last message.
  void check(unsigned rank, int64_t from);
  [[noreturn]] void lose(unsigned rank, const std::string& why);
  void report_lost(const LostRank& lost);

  const std::unique_ptr<Transport> transport_;
  const int64_t timeout_;
  std::vector<std::deque<std::string>> inbox_;  // by rank
  std::deque<std::pair<unsigned, std::string>> posted_;
  std::vector<bool> gone_, missing_;
  std::optional<LostRank> told_lost_;  // arrived in take(), which does not throw
  std::vector<int64_t> last_message_;  // time of the last message of each rank, ns
  std::vector<std::string> hosts_;
  int64_t beaten_ = 0;                // last call of send_heartbeat(), ns
  int64_t looked_ = 0;                // last look for missing ranks, ns
  std::atomic<int64_t> sent_ = 0;     // time of the last message sent, ns
  std::atomic<bool> paused_ = false;  // true: nothing was sent for longer than the timeout, since the last gather()
};

}  // namespace fsr
