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

// Returns the measured values of `sum`, all kinds together. `kinds`: those that were issued, in which nothing stands yet.
Measured measured(const KindCounters& sum, const Tally& counts, std::vector<std::pair<OpKind, Measured>>& kinds) {
  Measured all = measured(sum);
  for (Row row = 0; row < kOpKinds; ++row) {
    const KindCounters& cell = counts[row];
    if (cell.count + cell.failed == 0) continue;
    const OpKind kind = OpKind(row);
    Measured& of_kind = kinds.emplace_back(kind, measured(cell)).second;
    if (kind != OpKind::write) all.bytes_read += of_kind.bytes_read = cell.bytes;
    if (kind != OpKind::read) all.bytes_written += of_kind.bytes_written = cell.bytes;
  }
  kinds.shrink_to_fit();
  return all;
}

// Returns the mean of the operations of both, whose number is given.
std::optional<double> mean_of(std::optional<double> one, uint64_t ones, std::optional<double> other, uint64_t others) {
  if (!one || !other) return one ? one : other;
  return (*one * double(ones) + *other * double(others)) / double(ones + others);
}

// Adds the interval after `row` to it. `counts`: those of both.
void join(SeriesInterval& row, const SeriesInterval& next, const Tally& counts) {
  row.to = next.to;
  row.in_flight = next.in_flight;
  row.differed += next.differed;
  row.lateness = std::max(row.lateness, next.lateness);
  if (next.issued) row.issued = row.issued.value_or(0) + *next.issued;
  row.waiting_mean = mean_of(row.waiting_mean, row.all.operations, next.waiting_mean, next.all.operations);
  row.lateness_mean = mean_of(row.lateness_mean, row.all.operations, next.lateness_mean, next.all.operations);
  if (row.ranks && next.ranks) row.ranks = std::min(*row.ranks, *next.ranks);
  row.kinds.clear();
  row.all = measured(sum_of(counts), counts, row.kinds);
}

}  // namespace

Times times_of(const Histogram& h) {
  return {h.count(),        h.mean(),          h.quantile(0.5),    h.quantile(0.9),
          h.quantile(0.99), h.quantile(0.999), h.quantile(0.9999), h.max()};
}

void TimeSeries::add(const Progress& progress) {
  progress_ = progress;
  lateness_ = std::max(lateness_, progress.lateness);
}

const SeriesInterval& TimeSeries::add(const Interval& interval, std::optional<uint64_t> ranks) {
  SeriesInterval& out = latest_;
  out = {.from = interval.from, .to = interval.to, .in_flight = progress_.in_flight, .ranks = ranks};
  out.differed = progress_.differed - std::exchange(differed_, progress_.differed);
  out.lateness = std::exchange(lateness_, 0);
  const KindCounters sum = sum_of(interval.counts);
  out.all = measured(sum, interval.counts, out.kinds);
  if (const IntervalParts* parts = interval.parts) {
    out.issued = parts->issued;
    if (out.all.operations) {
      out.waiting_mean = double(parts->waiting) / double(out.all.operations);
      out.lateness_mean = double(parts->lateness) / double(out.all.operations);
    }
  }
  keep(interval.counts, sum);
  return out;
}

void TimeSeries::append(const SeriesInterval& interval, const Tally& counts) {
  latest_ = interval;
  keep(counts, sum_of(counts));
}

// Returns the number of intervals in row `row` of a bounded series.
static uint64_t width(size_t row) {
  constexpr size_t kWhole = TimeSeries::kWhole;
  return row < kWhole ? 1 : uint64_t(2) << (row - kWhole) / (kWhole / 2);
}

void TimeSeries::keep(const Tally& counts, const KindCounters& sum) {
  if (rows_ == Rows::none) return;
  heat_.add(latest_.from, latest_.to, sum);
  const bool bounded = rows_ == Rows::bounded;
  if (bounded && !intervals_.empty() && in_last_row_ < width(intervals_.size() - 1)) {
    last_row_.merge(counts);
    ++in_last_row_;
    join(intervals_.back(), latest_, last_row_);
  } else {
    intervals_.push_back(latest_);
    in_last_row_ = 1;
    if (bounded && width(intervals_.size() - 1) > 1) last_row_ = counts;
  }
  if (!by_kind_) intervals_.back().kinds = {};
}

void TimeSeries::set_due(const std::vector<uint64_t>& due, int64_t length) {
  if (intervals_.empty() || due.empty()) return;
  for (SeriesInterval& row : intervals_) row.due = 0;
  auto row = intervals_.begin();
  for (size_t i = 0; i < due.size(); ++i) {
    while (row + 1 != intervals_.end() && int64_t(i) * length >= row->to) ++row;
    *row->due += due[i];
  }
}

}  // namespace fsr
