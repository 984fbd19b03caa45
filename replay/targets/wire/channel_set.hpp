// SPDX-License-Identifier: Apache-2.0
// Several connections to one server (nconnect), which get requests in turn, as in Linux' clients. Used by one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "targets/wire/channel.hpp"

namespace fsr::wire {

class ChannelSet {
 public:
  static constexpr unsigned kMost = 16;

  // Makes all connections. Throws std::runtime_error, one line, if one fails.
  ChannelSet(unsigned number, const std::vector<Address>& addresses, const Protocol& protocol, const ChannelOptions& options,
             Clock& clock, ChannelCounters& counters);
  ~ChannelSet();
  ChannelSet(const ChannelSet&) = delete;
  ChannelSet& operator=(const ChannelSet&) = delete;

  // Adds a channel to another server, which next() never returns. It connects when there is a request to send.
  Channel& add(const std::vector<Address>& addresses, const Protocol& protocol, ChannelOptions options,
               ChannelCounters& counters);

  size_t size() const { return channels_.size(); }
  Channel& operator[](size_t i) { return *channels_[i]; }
  bool up() const { return channels_[0]->up(); }  // the first
  bool full() const;                              // true: all channels are full
  Channel& next();                                // returns the next channel in turn that is not full

  // Does the same as Channel::poll(). With more than one channel, handles what has arrived and returns.
  Channel::Woken poll(int64_t deadline, int wake);
  // Returns one descriptor that stands for all sockets, for callers that wait in poll(2) for other descriptors as well. poll()
  // must follow.
  Channel::Interest interest(int64_t deadline) const;
  uint64_t generation() const { return size() == 1 ? channels_[0]->connections() : 0; }    // changes when that descriptor does
  uint64_t sockets() const { return size() == 1 ? channels_[0]->sockets() : UINT64_MAX; }  // changes when its socket is a new one
  uint64_t reconnects() const {
    uint64_t all = 0;
    for (const auto& channel : channels_) all += channel->connections() - std::min<uint64_t>(channel->connections(), 1);
    return all;
  }
  void reset();
  void prefer_throughput();  // of all channels

 private:
  struct Watched {
    uint64_t number = 0;  // Channel::sockets()
    short events = 0;
  };
  bool has_epoll() const;
  void watch(size_t i, const Channel::Interest& wanted) const;

  Clock& clock_;
  std::vector<std::unique_ptr<Channel>> channels_;
  size_t dealt_;  // number of channels at the front of channels_ that next() returns
  size_t turn_ = 0;
  mutable int epoll_ = -1;                // made when it is needed; -1: none, or it can't be made
  mutable std::vector<Watched> watched_;  // state of each channel in epoll_
};

}  // namespace fsr::wire
