// SPDX-License-Identifier: Apache-2.0
// Figures of how several clients came back after a restart of their server.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/client_figures.hpp"

namespace fsr {

// How several clients came back after their server restarted, or forgot them for another reason. Times are ns after the last
// reply before.
struct RestartFigures {
  uint64_t clients = 0;         // that the server had forgotten
  uint64_t back = 0;            // clients among these that have their state again
  int64_t first = 0, last = 0;  // until the first and the last of them had it
  int64_t old_rate = 0;         // until as many operations ended in a second as before; 0: not in this run

  void add(const RestartFigures& other) {
    if (!other.clients) return;
    first = !back ? other.first : !other.back ? first : std::min(first, other.first);
    last = std::max(last, other.last);
    old_rate = !clients ? other.old_rate : old_rate && other.old_rate ? std::max(old_rate, other.old_rate) : 0;
    clients += other.clients;
    back += other.back;
  }
};

// Operations that have ended, by time, so that a report can say when a rate was reached again.
class EndedOverTime {
 public:
  static constexpr int64_t kStep = 100'000'000;  // ns
  void begin(int64_t now) { begun_ = now; }
  void add(int64_t now) {
    const size_t step = size_t(std::max<int64_t>(now - begun_, 0) / kStep);
    if (ended_.size() <= step) ended_.resize(step + 1);
    ++ended_[step];
  }
  // Returns the time after `at` until nine tenths of the rate of the ten seconds before are reached, for a second. 0: never.
  int64_t until_old_rate(int64_t at) const {
    constexpr size_t kWindow = 10, kBefore = 100;  // steps
    const size_t middle = size_t(std::max<int64_t>(at - begun_, 0) / kStep);
    size_t first = middle - std::min(middle, kBefore);
    while (first < std::min(middle, ended_.size()) && !ended_[first]) ++first;  // before the run
    uint64_t before = 0;
    for (size_t i = first; i < std::min(middle, ended_.size()); ++i) before += ended_[i];
    for (size_t end = middle + 1 + kWindow; middle > first && end <= ended_.size(); ++end) {
      uint64_t sum = 0;
      for (size_t i = end - kWindow; i < end; ++i) sum += ended_[i];
      if (10 * sum * (middle - first) >= 9 * before * kWindow) return begun_ + int64_t(end) * kStep - at;
    }
    return 0;
  }

 private:
  int64_t begun_ = 0;
  std::vector<uint32_t> ended_;
};

// Returns how the clients came back after the latest time that the server had forgotten them.
inline RestartFigures restart_of(const std::vector<ClientFigures>& clients, const EndedOverTime& ended) {
  RestartFigures all;
  int64_t heard = 0;
  for (const ClientFigures& c : clients) heard = std::max(heard, c.heard);
  if (!heard) return all;
  for (const ClientFigures& c : clients) {
    if (!c.heard) continue;
    RestartFigures one{.clients = 1};
    if (c.back > heard) one.back = 1, one.first = one.last = c.back - heard;
    all.add(one);
  }
  all.old_rate = ended.until_old_rate(heard);
  return all;
}

}  // namespace fsr
