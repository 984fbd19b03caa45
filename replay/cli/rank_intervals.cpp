// SPDX-License-Identifier: Apache-2.0
#include "cli/rank_intervals.hpp"

#include <algorithm>
#include <stdexcept>

#include "trace/bytes.hpp"

namespace fsr {

RankInterval::RankInterval(unsigned rank, const Interval& interval, const SeriesInterval& merged)
    : number_(interval.number - 1),
      from_(interval.from),
      to_(interval.to),
      lateness_(merged.lateness),
      in_flight_(merged.in_flight),
      differed_(merged.differed),
      senders_{{.rank = rank, .number = number_, .last = interval.last, .end_only = false, .operations = merged.all.operations}},
      counts_(interval.counts) {
  if (interval.parts) parts_ = *interval.parts;
}

RankInterval RankInterval::end_of(unsigned rank, uint64_t number) {
  RankInterval end;
  end.number_ = number;
  end.senders_ = {{.rank = rank, .number = number, .last = true, .end_only = true, .operations = 0}};
  return end;
}

std::string RankInterval::save() const {
  ByteWriter out;
  out.varint(number_);
  out.svarint(from_);
  out.svarint(to_);
  out.svarint(lateness_);
  out.varint(in_flight_);
  out.varint(differed_);
  out.varint(senders_.size());
  for (const Sender& sender : senders_) {
    out.varint(sender.rank);
    out.varint(sender.number);
    out.u8(uint8_t(sender.last | sender.end_only << 1));
    out.varint(sender.operations);
  }
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
  interval.number_ = in.varint();
  interval.from_ = in.svarint();
  interval.to_ = in.svarint();
  interval.lateness_ = in.svarint();
  interval.in_flight_ = in.varint();
  interval.differed_ = in.varint();
  for (uint64_t senders = in.varint(); in.ok() && senders > 0; --senders) {
    Sender& sender = interval.senders_.emplace_back();
    sender.rank = unsigned(in.varint());
    sender.number = in.varint();
    const uint8_t flags = in.u8();
    sender.last = flags & 1;
    sender.end_only = flags & 2;
    sender.operations = in.varint();
  }
  const bool has_parts = in.u8() != 0;
  const IntervalParts parts{.issued = in.varint(), .waiting = in.svarint(), .lateness = in.svarint()};
  if (has_parts) interval.parts_ = parts;
  interval.counts_ = Tally::load(in.text());
  if (!in.ok() || in.left() != 0) throw std::runtime_error("damaged interval from another rank");
  return interval;
}

const RankInterval::Sender* RankInterval::sender(unsigned rank) const {
  const auto at = std::ranges::lower_bound(senders_, rank, {}, &Sender::rank);
  return at != senders_.end() && at->rank == rank ? &*at : nullptr;
}

bool RankInterval::has(unsigned rank) const {
  const Sender* its = sender(rank);
  return its && !its->end_only;
}

bool RankInterval::ends_only() const { return std::ranges::all_of(senders_, &Sender::end_only); }

void RankInterval::add_sender(const Sender& sender) {
  const auto at = std::ranges::lower_bound(senders_, sender.rank, {}, &Sender::rank);
  if (at == senders_.end() || at->rank != sender.rank) {
    senders_.insert(at, sender);
    return;
  }
  at->number = std::max(at->number, sender.number);
  at->last |= sender.last;
  at->end_only &= sender.end_only;
  at->operations += sender.operations;
}

void RankInterval::merge(const RankInterval& other) {
  const bool part = !other.ends_only();
  if (ends_only() || (part && other.number_ > number_)) {
    number_ = other.number_;
    from_ = other.from_;
    to_ = other.to_;
    in_flight_ = other.in_flight_;
  } else if (part && other.number_ == number_) {
    to_ = std::max(to_, other.to_);
    in_flight_ += other.in_flight_;
  }
  for (const Sender& sender : other.senders_) add_sender(sender);
  add_late(other);
}

void RankInterval::add_late(const RankInterval& late) {
  lateness_ = std::max(lateness_, late.lateness_);
  differed_ += late.differed_;
  counts_.merge(late.counts_);
  if (!late.parts_) return;
  if (!parts_) parts_.emplace();
  parts_->merge(*late.parts_);
}

void RankInterval::cover(uint64_t number, int64_t from, int64_t to) {
  number_ = number;
  from_ = from;
  to_ = to;
}

void RankInterval::report_interval(MergedIntervals& before, bool last, const Receiver& receive) const {
  before.progress.in_flight = in_flight_;
  before.progress.differed += differed_;
  before.progress.lateness = lateness_;
  before.series.add(before.progress);
  const Interval interval{++before.count, from_, to_, counts_, last, parts_ ? &*parts_ : nullptr};
  const auto ranks = uint64_t(std::ranges::count_if(senders_, [](const Sender& sender) { return !sender.end_only; }));
  const SeriesInterval& series = before.series.add(interval, ranks);
  if (receive) receive(interval, series);
}

}  // namespace fsr
