// SPDX-License-Identifier: Apache-2.0
#include "engine/run_merge.hpp"

#include <algorithm>
#include <bit>

#include "engine/limit.hpp"
#include "trace/bytes.hpp"

namespace fsr {

namespace {

constexpr uint64_t KindResult::*kKindSums[] = {
    &KindResult::issued,     &KindResult::ok,         &KindResult::matched,     &KindResult::differed, &KindResult::followed,
    &KindResult::permission, &KindResult::uncompared, &KindResult::approximate, &KindResult::failed,   &KindResult::awaited,
    &KindResult::impossible, &KindResult::refused,    &KindResult::bytes};
constexpr Histogram KindResult::*kKindHistograms[] = {&KindResult::service, &KindResult::recorded};
constexpr Histogram RunResult::*kHistograms[] = {&RunResult::lateness, &RunResult::waiting, &RunResult::service,
                                                 &RunResult::response, &RunResult::failing, &RunResult::open};
constexpr uint64_t RunResult::*kSums[] = {
    &RunResult::streams,       &RunResult::objects,          &RunResult::operations,  &RunResult::cancelled,
    &RunResult::unfinished,    &RunResult::unanswered,       &RunResult::behind,      &RunResult::waited,
    &RunResult::waited_own,    &RunResult::unrecorded,       &RunResult::edges,       &RunResult::free_pairs,
    &RunResult::violations,    &RunResult::auxiliary,        &RunResult::window_full, &RunResult::bytes_read,
    &RunResult::bytes_written, &RunResult::mismatches_total, &RunResult::overdue};
// Times that pass for all processes at once, so that the longest one counts.
constexpr int64_t RunResult::*kLongest[] = {&RunResult::elapsed,     &RunResult::recorded,      &RunResult::planned,
                                            &RunResult::behind_time, &RunResult::silent,        &RunResult::longest_silence,
                                            &RunResult::stood_still, &RunResult::longest_stand, &RunResult::stolen};
constexpr double RunResult::*kTimes[] = {&RunResult::recorded_service, &RunResult::think, &RunResult::own_delay};
constexpr uint64_t ContentCompared::*kContent[] = {&ContentCompared::blocks, &ContentCompared::bytes, &ContentCompared::unknown};
constexpr bool RunResult::*kFlags[] = {&RunResult::stopped, &RunResult::stopped_on_error};

void save_mismatch(ByteWriter& out, const Mismatch& m) {
  out.varint(m.seq);
  out.u8(uint8_t(m.kind));
  out.text(m.name);
  out.varint(m.object);
  out.varint(m.thread);
  out.text(m.expected);
  out.text(m.got);
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
  m.thread = ThreadId(in.varint());
  m.expected = in.text();
  m.got = in.text();
  return m;
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
  for (const KnockOnTracker::Cause& cause : l.first) {
    out.varint(cause.seq);
    out.u8(uint8_t(cause.kind));
    out.text(cause.name);
  }
}

KnockOnTracker::LeftOut load_left_out(ByteReader& in) {
  KnockOnTracker::LeftOut l;
  l.count = in.varint();
  for (uint64_t n = load_count(in); n > 0 && in.ok(); --n) {
    KnockOnTracker::Cause cause;
    cause.seq = in.varint();
    cause.kind = load_kind(in);
    cause.name = in.text();
    l.first.push_back(std::move(cause));
  }
  return l;
}

}  // namespace

void save_result(ByteWriter& out, const RunResult& r) {
  for (const KindResult& kind : r.kinds) {
    for (auto sum : kKindSums) out.varint(kind.*sum);
    for (auto histogram : kKindHistograms) (kind.*histogram).save(out);
  }
  for (auto histogram : kHistograms) (r.*histogram).save(out);
  for (auto sum : kSums) out.varint(r.*sum);
  for (auto time : kLongest) out.varint(uint64_t(r.*time));
  for (auto time : kTimes) out.u64(std::bit_cast<uint64_t>(r.*time));
  for (auto content : kContent) out.varint(r.content.*content);
  for (auto flag : kFlags) out.u8(r.*flag);
  out.varint(r.workers);
  out.varint(r.due.size());
  for (uint64_t due : r.due) out.varint(due);
  const std::vector<SlowOperation> slowest = r.slowest.list();
  out.varint(slowest.size());
  for (const SlowOperation& slow : slowest) save_slow(out, slow);
  out.varint(r.mismatches.size());
  for (const Mismatch& mismatch : r.mismatches) save_mismatch(out, mismatch);
  save_left_out(out, r.left_out);
  out.u8(r.cause.has_value());
  if (r.cause) save_cause(out, *r.cause);
}

RunResult load_result(ByteReader& in) {
  RunResult r;
  for (KindResult& kind : r.kinds) {
    for (auto sum : kKindSums) kind.*sum = in.varint();
    for (auto histogram : kKindHistograms) kind.*histogram = Histogram::load(in);
  }
  for (auto histogram : kHistograms) r.*histogram = Histogram::load(in);
  for (auto sum : kSums) r.*sum = in.varint();
  for (auto time : kLongest) r.*time = int64_t(in.varint());
  for (auto time : kTimes) r.*time = std::bit_cast<double>(in.u64());
  for (auto content : kContent) r.content.*content = in.varint();
  for (auto flag : kFlags) r.*flag = in.u8() != 0;
  r.workers = unsigned(in.varint());
  for (uint64_t n = load_count(in); n > 0 && in.ok(); --n) r.due.push_back(in.varint());
  for (uint64_t n = load_count(in); n > 0 && in.ok(); --n) r.slowest.add(load_slow(in));
  for (uint64_t n = load_count(in); n > 0 && in.ok(); --n) r.mismatches.push_back(load_mismatch(in));
  r.left_out = load_left_out(in);
  if (in.u8()) r.cause = load_cause(in);
  return r;
}

void merge_result(RunResult& into, const RunResult& part, const RunOptions& options) {
  for (unsigned i = 0; i < kOpKinds; ++i) {
    for (auto sum : kKindSums) into.kinds[i].*sum += part.kinds[i].*sum;
    for (auto histogram : kKindHistograms) (into.kinds[i].*histogram).merge(part.kinds[i].*histogram);
  }
  for (auto histogram : kHistograms) (into.*histogram).merge(part.*histogram);
  for (auto sum : kSums) into.*sum += part.*sum;
  for (auto time : kLongest) into.*time = std::max(into.*time, part.*time);
  for (auto time : kTimes) into.*time += part.*time;
  for (auto content : kContent) into.content.*content += part.content.*content;
  for (auto flag : kFlags) into.*flag = into.*flag || part.*flag;
  into.workers += part.workers;
  into.due.resize(std::max(into.due.size(), part.due.size()));
  for (size_t i = 0; i < part.due.size(); ++i) into.due[i] += part.due[i];
  into.slowest.merge(part.slowest);
  into.left_out.merge(part.left_out);
  into.mismatches.insert(into.mismatches.end(), part.mismatches.begin(), part.mismatches.end());
  Mismatch::keep_first(into.mismatches, options.mismatches);
  if (part.cause && (!into.cause || part.cause->seq < into.cause->seq)) into.cause = part.cause;
  find_limit(options, into);
}

}  // namespace fsr
