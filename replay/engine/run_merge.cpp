// SPDX-License-Identifier: Apache-2.0
#include "engine/run_merge.hpp"

#include <algorithm>
#include <bit>

#include "engine/figures.hpp"
#include "engine/limit.hpp"
#include "measure/tally.hpp"
#include "trace/bytes.hpp"

namespace fsr {

namespace {

template <class R, class V>
void merge(const figures::Sum<R, V>& row, R& into, const R& part) {
  into.*row.member += part.*row.member;
}
template <class R, class V>
void merge(const figures::Longest<R, V>& row, R& into, const R& part) {
  into.*row.member = std::max(into.*row.member, part.*row.member);
}
template <class R>
void merge(const figures::Any<R>& row, R& into, const R& part) {
  into.*row.member = into.*row.member || part.*row.member;
}
template <class R>
void merge(const figures::Distribution<R>& row, R& into, const R& part) {
  (into.*row.member).merge(part.*row.member);
}

void save(ByteWriter& out, double value) { out.u64(std::bit_cast<uint64_t>(value)); }
void save(ByteWriter& out, const Histogram& histogram) { histogram.save(out); }
template <class Whole>
void save(ByteWriter& out, Whole value) {
  out.varint(uint64_t(value));
}
void load(ByteReader& in, double& value) { value = std::bit_cast<double>(in.u64()); }
void load(ByteReader& in, Histogram& histogram) { histogram = Histogram::load(in); }
template <class Whole>
void load(ByteReader& in, Whole& value) {
  value = Whole(in.varint());
}

// Calls `act` with each row that has a member, and with what this belongs to in each of `results`.
template <class Act, class... Result>
void each_member(Act act, Result&... results) {
  auto act_on_member = [&](const auto& row, auto&... owners) {
    if constexpr (requires { row.member; }) act(row, owners...);
  };
  for (unsigned i = 0; i < kOpKinds; ++i) {
    figures::each(figures::kOfKind, act_on_member, results.kinds[i]...);
    for (const auto& row : figures::kTimesOfKind) act(row, results.kinds[i]...);
  }
  figures::each(figures::kOfRun, act_on_member, results...);
  for (const auto& row : figures::kTimesOfRun) act(row, results...);
}

void save_mismatch(ByteWriter& out, const Mismatch& m) {
  out.varint(m.seq);
  out.u8(uint8_t(m.kind));
  out.text(m.name);
  out.varint(m.object);
  out.varint(m.parent);
  out.varint(m.thread);
  out.text(m.expected);
  out.text(m.got);
  out.varint(uint64_t(m.issued));
}

OpKind load_kind(ByteReader& in) {
  const uint8_t kind = in.u8();
  if (kind >= kOpKinds) in.fail();
  return in.ok() ? OpKind(kind) : OpKind::null;
}

Mismatch load_mismatch(ByteReader& in) {
  Mismatch m;
  m.seq = in.varint();
  m.kind = load_kind(in);
  m.name = in.text();
  m.object = in.varint();
  m.parent = in.varint();
  m.thread = ThreadId(in.varint());
  m.expected = in.text();
  m.got = in.text();
  m.issued = int64_t(in.varint());
  return m;
}

void save_differences(ByteWriter& out, const Differences& differences) {
  const std::vector<Difference> list = differences.list();
  out.varint(differences.others());
  out.varint(list.size());
  for (const Difference& d : list) {
    out.u8(uint8_t(d.kind));
    out.text(d.expected);
    out.text(d.got);
    for (uint64_t number : {d.count, uint64_t(d.first), uint64_t(d.last), d.first_seq, d.object, d.parent}) out.varint(number);
    out.text(d.example);
  }
}

Difference load_difference(ByteReader& in) {
  Difference d;
  d.kind = load_kind(in);
  d.expected = in.text();
  d.got = in.text();
  d.count = in.varint();
  d.first = int64_t(in.varint());
  d.last = int64_t(in.varint());
  d.first_seq = in.varint();
  d.object = in.varint();
  d.parent = in.varint();
  d.example = in.text();
  return d;
}

void save_cause(ByteWriter& out, const KnockOnTracker::Cause& cause) {
  out.varint(cause.seq);
  out.u8(uint8_t(cause.kind));
  out.text(cause.name);
}

KnockOnTracker::Cause load_cause(ByteReader& in) {
  KnockOnTracker::Cause cause;
  cause.seq = in.varint();
  cause.kind = load_kind(in);
  cause.name = in.text();
  return cause;
}

void save_slow(ByteWriter& out, const SlowOperation& s) {
  out.varint(uint64_t(s.service));
  out.varint(uint64_t(s.recorded));
  out.varint(uint64_t(s.issued));
  out.varint(s.seq);
  out.u8(uint8_t(s.kind));
  out.text(s.name);
  out.varint(s.object);
  out.varint(s.parent);
}

SlowOperation load_slow(ByteReader& in) {
  SlowOperation s;
  s.service = int64_t(in.varint());
  s.recorded = int64_t(in.varint());
  s.issued = int64_t(in.varint());
  s.seq = in.varint();
  s.kind = load_kind(in);
  s.name = in.text();
  s.object = in.varint();
  s.parent = in.varint();
  return s;
}

// Reads the number of items that follow, each of which takes at least one byte.
uint64_t load_count(ByteReader& in) {
  const uint64_t count = in.varint();
  if (count > in.left()) in.fail();
  return in.ok() ? count : 0;
}

void save_left_out(ByteWriter& out, const KnockOnTracker::LeftOut& l) {
  out.varint(l.count);
  out.varint(l.first.size());
  for (const KnockOnTracker::Cause& cause : l.first) save_cause(out, cause);
}

KnockOnTracker::LeftOut load_left_out(ByteReader& in) {
  KnockOnTracker::LeftOut l;
  l.count = in.varint();
  for (uint64_t n = load_count(in); n > 0 && in.ok(); --n) l.first.push_back(load_cause(in));
  return l;
}

void save_made_of(ByteWriter& out, const MadeOf& made_of) {
  for (const MadeOf::Row& row : made_of.rows())
    for (uint64_t number : {row.operations, uint64_t(row.service), uint64_t(row.waiting), uint64_t(row.lateness)})
      out.varint(number);
}

MadeOf load_made_of(ByteReader& in) {
  MadeOf made_of;
  for (size_t i = 0; i < MadeOf::kRows; ++i) {
    MadeOf::Row row;
    row.operations = in.varint();
    for (int64_t* sum : {&row.service, &row.waiting, &row.lateness}) *sum = int64_t(in.varint());
    made_of.add(i, row);
  }
  return made_of;
}

}  // namespace

void save_result(ByteWriter& out, const RunResult& r) {
  each_member([&](const auto& row, const auto& owner) { save(out, owner.*row.member); }, r);
  out.varint(r.due.size());
  for (uint64_t due : r.due) out.varint(due);
  const std::vector<SlowOperation> slowest = r.slowest.list();
  out.varint(slowest.size());
  for (const SlowOperation& slow : slowest) save_slow(out, slow);
  out.varint(r.mismatches.size());
  for (const Mismatch& mismatch : r.mismatches) save_mismatch(out, mismatch);
  save_differences(out, r.differences);
  save_made_of(out, r.made_of);
  save_left_out(out, r.left_out);
  out.varint(r.noted.size());
  for (const NotedTimes& noted : r.noted)
    for (uint64_t number : {noted.seq, uint64_t(noted.issued), uint64_t(noted.ended)}) out.varint(number);
  out.u8(r.cause.has_value());
  if (r.cause) save_cause(out, *r.cause);
}

RunResult load_result(ByteReader& in) {
  RunResult r;
  each_member([&](const auto& row, auto& owner) { load(in, owner.*row.member); }, r);
  for (uint64_t n = load_count(in); n > 0 && in.ok(); --n) r.due.push_back(in.varint());
  for (uint64_t n = load_count(in); n > 0 && in.ok(); --n) r.slowest.add(load_slow(in));
  for (uint64_t n = load_count(in); n > 0 && in.ok(); --n) r.mismatches.push_back(load_mismatch(in));
  r.differences.add_others(in.varint());
  for (uint64_t n = load_count(in); n > 0 && in.ok(); --n) r.differences.add(load_difference(in));
  r.made_of = load_made_of(in);
  r.left_out = load_left_out(in);
  for (uint64_t n = load_count(in); n > 0 && in.ok(); --n) {
    NotedTimes& noted = r.noted.emplace_back();
    noted.seq = in.varint();
    for (int64_t* time : {&noted.issued, &noted.ended}) *time = int64_t(in.varint());
  }
  if (in.u8()) r.cause = load_cause(in);
  return r;
}

void add_counts(RunResult& into, const Tally& counts) {
  for (unsigned i = 0; i < kOpKinds; ++i) {
    const KindCounters& cell = counts[Row(i)];
    KindResult& kind = into.kinds[i];
    kind.issued += cell.count + cell.failed;
    kind.ok += cell.count;
    kind.failed += cell.failed;
    kind.bytes += cell.bytes;
    kind.service.merge(cell.service);
    kind.recorded.merge(cell.recorded);
    into.service.merge(cell.service);
    into.response.merge(cell.response);
    if (OpKind(i) != OpKind::write) into.bytes_read += cell.bytes;
    if (OpKind(i) != OpKind::read) into.bytes_written += cell.bytes;
  }
}

void add_result(RunResult& into, const RunResult& part) {
  each_member([](const auto& row, auto& to, const auto& from) { merge(row, to, from); }, into, part);
  into.due.resize(std::max(into.due.size(), part.due.size()));
  for (size_t i = 0; i < part.due.size(); ++i) into.due[i] += part.due[i];
  into.slowest.merge(part.slowest);
  into.left_out.merge(part.left_out);
  into.differences.merge(part.differences);
  into.made_of.merge(part.made_of);
  into.mismatches.insert(into.mismatches.end(), part.mismatches.begin(), part.mismatches.end());
  into.noted.insert(into.noted.end(), part.noted.begin(), part.noted.end());
  if (part.cause && (!into.cause || part.cause->seq < into.cause->seq)) into.cause = part.cause;
}

void merge_result(RunResult& into, const RunResult& part, const RunOptions& options) {
  add_result(into, part);
  Mismatch::keep_first(into.mismatches, options.mismatches);
  find_limit(options, into);
}

}  // namespace fsr
