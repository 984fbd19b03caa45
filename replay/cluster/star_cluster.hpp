// SPDX-License-Identifier: Apache-2.0
// A cluster in which all messages go to or from the root.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
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
  void post(std::string_view mine) override;
  std::optional<std::pair<unsigned, std::string>> take() override;
  void send_heartbeat() override;
  void listen() override;
  bool overdue() const override;
  int64_t heartbeat_interval() const override;

 private:
  // Returns the next text from `rank`. Throws LostRank, without reporting the loss to the other ranks. `from`: start of the wait,
  // ns. `awake`: as for next_of().
  std::string wait_for(unsigned rank, int64_t from, int64_t awake);
  // Returns the next text from `rank`. `awake`: ns of polling before sleeping, for an answer whose time is measured. Reports a
  // lost rank to the other ranks.
  std::string next_of(unsigned rank, int64_t awake = 0);
  void send_offset(unsigned rank);
  std::optional<Transport::Message> receive(int64_t timeout);
  void take_in(Transport::Message message);
  void send(unsigned to, char kind, std::string_view text);
  // Throws LostRank if `rank` has exited, or if the timeout has passed since both `from` and its last message.
  void check(unsigned rank, int64_t from);
  [[noreturn]] void lose(unsigned rank, const std::string& why);
  void report_lost(const LostRank& lost);

  const std::unique_ptr<Transport> transport_;
  const int64_t timeout_;
  std::vector<std::deque<std::string>> inbox_;  // by rank
  std::deque<std::pair<unsigned, std::string>> posted_;
  std::vector<bool> gone_;
  std::vector<int64_t> last_message_;  // time of the last message of each rank, ns
  std::vector<std::string> hosts_;
  int64_t beaten_ = 0;                // last call of send_heartbeat(), ns
  std::atomic<int64_t> sent_ = 0;     // time of the last message sent, ns
  std::atomic<bool> paused_ = false;  // true: nothing was sent for longer than the timeout, since the last gather()
};

}  // namespace fsr
