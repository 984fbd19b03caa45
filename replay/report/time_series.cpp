// SPDX-License-Identifier: Apache-2.0
#include "report/time_series.hpp"

#include <algorithm>

namespace fsr {

namespace {

Measured measured(const KindCounters& cell) {
  return {.operations = cell.count,
          .failed = cell.failed,
          .service = times_of(cell.service),
          .response = times_of(cell.response),
          .recorded = times_of(cell.recorded)};
}

KindCounters sum_of(const Tally& counts) {
  KindCounters all;
  for (Row row = 0; row < kOpKinds; ++row) all.merge(counts[row]);
  return all;
}

}  // namespace

Times times_of(const Histogram& h) {
  return {h.count(),        h.mean(),          h.quantile(0.5),    h.quantile(0.9),
          h.quantile(0.99), h.quantile(0.999), h.quantile(0.9999), h.max()};
}

void TimeSeries::add(const Progress& progress) {
  latest_ = progress;
  lateness_ = std::max(lateness_, progress.lateness);
}

const SeriesInterval& TimeSeries::add(const Interval& interval, std::optional<uint64_t> ranks) {
  SeriesInterval& out = intervals_.emplace_back();
  out.ranks = ranks;
  out.from = interval.from;
  out.to = interval.to;
  out.in_flight = latest_.in_flight;
  out.differed = latest_.differed - std::exchange(differed_, latest_.differed);
  out.lateness = std::exchange(lateness_, 0);
  const KindCounters all = sum_of(interval.counts);
  uint64_t read = 0, written = 0;
  for (Row row = 0; row < kOpKinds; ++row) {
    const KindCounters& cell = interval.counts[row];
    if (cell.count + cell.failed == 0) continue;
    const OpKind kind = OpKind(row);
    Measured& of_kind = out.kinds.emplace_back(kind, measured(cell)).second;
    if (kind != OpKind::write) read += of_kind.bytes_read = cell.bytes;
    if (kind != OpKind::read) written += of_kind.bytes_written = cell.bytes;
  }
  if (const IntervalParts* parts = interval.parts) {
    out.issued = parts->issued;
    if (all.count) {
      out.waiting_mean = double(parts->waiting) / double(all.count);
      out.lateness_mean = double(parts->lateness) / double(all.count);
    }
  }
  out.all = measured(all);
  out.all.bytes_read = read;
  out.all.bytes_written = written;
  heat_.add(interval.from, interval.to, all);
  return out;
}

void TimeSeries::append(SeriesInterval interval, const Tally& counts) {
  heat_.add(interval.from, interval.to, sum_of(counts));
  intervals_.push_back(std::move(interval));
}

void TimeSeries::keep_last() {
  if (intervals_.size() > 1) intervals_.erase(intervals_.begin(), intervals_.end() - 1);
  heat_ = {};
}

void TimeSeries::set_due(const std::vector<uint64_t>& due) {
  if (intervals_.empty() || due.empty()) return;
  for (SeriesInterval& interval : intervals_) interval.due = 0;
  for (size_t i = 0; i < due.size(); ++i) *intervals_[std::min(i, intervals_.size() - 1)].due += due[i];
}

}  // namespace fsr
