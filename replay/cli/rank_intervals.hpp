// SPDX-License-Identifier: Apache-2.0
// The intervals that the ranks of a run have measured. One thread. Loading throws std::runtime_error for bytes that save() did
// not make.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/interval.hpp"
#include "report/time_series.hpp"

namespace fsr {

// One interval of one rank, or of several ranks merged.
class RankInterval {
 public:
  // A rank whose part is in the interval.
  struct Sender {
    unsigned rank = 0;
    uint64_t number = 0;      // of its latest interval, from 0
    bool last = false;        // its last interval
    bool end_only = false;    // only says that the rank has ended: there is no part of it
    uint64_t operations = 0;  // of its part; those that did not fail
  };

  RankInterval() = default;
  RankInterval(unsigned rank, const Interval& interval, const SeriesInterval& merged);
  // Says only that the last interval of `rank` is `number`.
  static RankInterval end_of(unsigned rank, uint64_t number);
  static RankInterval load(std::string_view saved);
  std::string save() const;

  // Adds the interval `other`. If their numbers differ, the sum is that of the later one.
  void merge(const RankInterval& other);
  // Adds the operations of `late`, which is an earlier interval, but not its ranks.
  void add_late(const RankInterval& late);
  // Sets the time of an interval that no rank has reported.
  void cover(uint64_t number, int64_t from, int64_t to);

  bool empty() const { return senders_.empty(); }
  uint64_t number() const { return number_; }  // from 0
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }
  const std::vector<Sender>& senders() const { return senders_; }  // by rank
  bool has(unsigned rank) const;                                   // true: the part of `rank` is in it
  bool ends_only() const;                                          // true: no part is in it

  // Adds this interval to the merged intervals before it, and passes it to `receive`. `last`: it is the last of the round.
  struct MergedIntervals {
    TimeSeries series;
    Progress progress;
    unsigned count = 0;
  };
  using Receiver = std::function<void(const Interval& interval, const SeriesInterval& series)>;
  void report_interval(MergedIntervals& before, bool last, const Receiver& receive) const;

 private:
  const Sender* sender(unsigned rank) const;
  void add_sender(const Sender& sender);

  uint64_t number_ = 0;
  int64_t from_ = 0, to_ = 0, lateness_ = 0;
  uint64_t in_flight_ = 0, differed_ = 0;
  std::vector<Sender> senders_;  // by rank
  Tally counts_;
  std::optional<IntervalParts> parts_;  // none: the input does not count them
};

}  // namespace fsr
