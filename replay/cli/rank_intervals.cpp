// SPDX-License-Identifier: Apache-2.0
#include "cli/rank_intervals.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "trace/bytes.hpp"

namespace fsr {

constexpr const char* kDamaged = "damaged intervals from another rank";

RankInterval::RankInterval(const Interval& interval, const SeriesInterval& merged)
    : from_(interval.from),
      to_(interval.to),
      lateness_(merged.lateness),
      in_flight_(merged.in_flight),
      differed_(merged.differed),
      last_(interval.last),
      counts_(interval.counts) {
  if (interval.parts) parts_ = *interval.parts;
}

std::string RankInterval::save() const {
  ByteWriter out;
  out.svarint(from_);
  out.svarint(to_);
  out.svarint(lateness_);
  out.varint(in_flight_);
  out.varint(differed_);
  out.u8(last_);
  out.u8(parts_.has_value());
  const IntervalParts parts = parts_.value_or(IntervalParts());
  out.varint(parts.issued);
  out.svarint(parts.waiting);
  out.svarint(parts.lateness);
  out.text(counts_.save());
  return std::string(out.view());
}

RankInterval RankInterval::load(std::string_view saved) {
  ByteReader in(saved);
  RankInterval interval;
  interval.from_ = in.svarint();
  interval.to_ = in.svarint();
  interval.lateness_ = in.svarint();
  interval.in_flight_ = in.varint();
  interval.differed_ = in.varint();
  interval.last_ = in.u8() != 0;
  const bool has_parts = in.u8() != 0;
  const IntervalParts parts{.issued = in.varint(), .waiting = in.svarint(), .lateness = in.svarint()};
  if (has_parts) interval.parts_ = parts;
  interval.counts_ = Tally::load(in.text());
  if (!in.ok() || in.left() != 0) throw std::runtime_error(kDamaged);
  return interval;
}

void RankInterval::merge(const RankInterval& other) {
  from_ = other.from_;
  to_ = std::max(to_, other.to_);
  lateness_ = std::max(lateness_, other.lateness_);
  in_flight_ += other.in_flight_;
  differed_ += other.differed_;
  counts_.merge(other.counts_);
  if (!other.parts_) return;
  if (!parts_) parts_.emplace();
  parts_->merge(*other.parts_);
}

void RankInterval::report_interval(MergedIntervals& before, bool last, const Receiver& report_interval) const {
  before.progress.in_flight = in_flight_;
  before.progress.differed += differed_;
  before.progress.lateness = lateness_;
  before.series.add(before.progress);
  const Interval interval{++before.count, from_, to_, counts_, last, parts_ ? &*parts_ : nullptr};
  const SeriesInterval& series = before.series.add(interval);
  if (report_interval) report_interval(interval, series);
}

std::string RankIntervals::save() const {
  ByteWriter out;
  out.varint(all_.size());
  for (const RankInterval& one : all_) out.text(one.save());
  return std::string(out.view());
}

void RankIntervals::merge(std::string_view saved) {
  ByteReader in(saved);
  const uint64_t count = in.varint();
  if (count > in.left()) in.fail();
  for (uint64_t i = 0; in.ok() && i < count; ++i) {
    if (i == all_.size()) all_.emplace_back();
    all_[i].merge(RankInterval::load(in.text()));
  }
  if (!in.ok() || in.left() != 0) throw std::runtime_error(kDamaged);
}

TimeSeries RankIntervals::series() const {
  RankInterval::MergedIntervals merged;
  for (const RankInterval& one : all_) one.report_interval(merged, &one == &all_.back(), {});
  return std::move(merged.series);
}

void LiveIntervals::report_interval(bool left, const RankInterval::Receiver& report_interval) {
  while (const std::optional<RankInterval> one = in_step_.next(left))
    one->report_interval(merged_, in_step_.over(left), report_interval);
}

}  // namespace fsr
