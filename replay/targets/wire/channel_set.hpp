// SPDX-License-Identifier: Apache-2.0
// Several connections to one server (nconnect), among which requests are dealt out in turn, as Linux's clients do it. Belongs to
// whom a Channel would.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "targets/wire/channel.hpp"

namespace fsr::wire {

class ChannelSet {
 public:
  static constexpr unsigned kMost = 16;

  // Connects them all; throws std::runtime_error, one line, if one can't.
  ChannelSet(unsigned number, const std::vector<Address>& addresses, const Protocol& protocol, const ChannelOptions& options,
             Clock& clock, ChannelCounters& counters);
  ~ChannelSet();
  ChannelSet(const ChannelSet&) = delete;
  ChannelSet& operator=(const ChannelSet&) = delete;

  // One more, to somebody else, which next() does not give: connects once there is something to send. Not with interest().
  Channel& add(const std::vector<Address>& addresses, const Protocol& protocol, ChannelOptions options,
               ChannelCounters& counters);

  size_t size() const { return channels_.size(); }
  Channel& operator[](size_t i) { return *channels_[i]; }
  bool full() const;  // all are
  Channel& next();    // the next channel in turn that is not full

  // As Channel::poll(); more than one handles what there is and returns.
  Channel::Woken poll(int64_t deadline, int wake);
  // For who waits in poll(2) with other descriptors: one that stands for all sockets. poll() must follow.
  Channel::Interest interest(int64_t deadline) const;
  uint64_t generation() const { return size() == 1 ? channels_[0]->connections() : 0; }  // changes with that descriptor
  void reset();
  void prefer_throughput();  // as Channel's

 private:
  struct Watched {
    uint64_t number = 0;  // Channel::sockets()
    short events = 0;
  };
  void watch(size_t i, const Channel::Interest& wanted) const;

  Clock& clock_;
  std::vector<std::unique_ptr<Channel>> channels_;
  size_t dealt_;  // channels_ that next() gives, the first of them
  size_t turn_ = 0;
  int epoll_ = -1;
  mutable std::vector<Watched> watched_;  // what epoll_ knows
};

}  // namespace fsr::wire
