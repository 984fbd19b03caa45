// SPDX-License-Identifier: Apache-2.0
#include "cli/interval_merger.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace fsr {

// Intervals between two that ranks report, at most; a greater distance is no interval of this run.
constexpr uint64_t kFarthest = 1'000'000;

bool IntervalMerger::add(const RankInterval& interval) {
  for (const RankInterval::Sender& sender : interval.senders()) {
    Rank& rank = ranks_.at(sender.rank);
    rank.reported = std::max(rank.reported, sender.number + 1);
    rank.ended = rank.ended || sender.last;
  }
  if (interval.ends_only()) return true;
  if (interval.number() < first_) return false;
  const uint64_t at = interval.number() - first_;
  if (at > kFarthest) throw std::runtime_error("damaged interval from another rank");
  if (at >= waiting_.size()) waiting_.resize(at + 1);
  waiting_[at].merge(interval);
  return true;
}

std::optional<RankInterval> IntervalMerger::next(const std::vector<bool>& awaited, size_t most) {
  if (waiting_.empty()) return std::nullopt;
  for (unsigned rank = 0; rank < ranks_.size() && waiting_.size() <= most; ++rank)
    if (awaited[rank] && !ranks_[rank].ended && ranks_[rank].reported <= first_) return std::nullopt;
  std::optional<RankInterval> one = std::move(waiting_.front());
  waiting_.pop_front();
  ++first_;
  if (!one->empty() && !carried_.empty()) one->add_late(std::exchange(carried_, {}));
  return one;
}

const RankInterval* IntervalMerger::first_waiting() const {
  for (const RankInterval& interval : waiting_)
    if (!interval.empty()) return &interval;
  return nullptr;
}

bool IntervalMerger::over(const std::vector<bool>& awaited) const {
  for (unsigned rank = 0; rank < ranks_.size(); ++rank)
    if (awaited[rank] && !ranks_[rank].ended) return false;
  return waiting_.empty();
}

}  // namespace fsr
