// SPDX-License-Identifier: Apache-2.0
#include "report/facts.hpp"

#include <fmt/format.h>

#include <cmath>

#include "report/report.hpp"

namespace fsr {

namespace {

int64_t number(uint64_t n) { return int64_t(n); }

}  // namespace

void add_times(Facts& out, const std::string& what, const Times& t) {
  auto add = [&](const char* of, SqlValue value) { out.emplace_back(what + of, t.count ? value : SqlValue(nullptr)); };
  add("_mean_ns", t.mean);
  add("_p50_ns", t.p50);
  add("_p90_ns", t.p90);
  add("_p99_ns", t.p99);
  add("_p999_ns", t.p999);
  add("_p9999_ns", t.p9999);
  add("_max_ns", t.max);
}

namespace {

std::string lines(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& line : list) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace

Facts run_facts(const Report& report) {
  const RunResult& r = report.result;
  const Verdict v = verdict(report);
  Facts facts = origin_facts(report.program, report.command, report.started, report.environment);
  const Facts further = {
      {"label", report.label},
      {"target_mount", report.target_mount},
      {"input", report.input},
      {"target", report.target},
      {"timing", std::string(timing_name(report.options.timing))},
      {"ordering", std::string(order_name(report.options.order))},
      {"scale", report.options.scale},
      {"uid", report.acting_as},
      {"workers", int64_t(r.workers)},
      {"elapsed_ns", r.elapsed},
      {"planned_ns", r.planned},
      {"recorded_ns", r.recorded},
      {"offered_per_s", r.offered()},
      {"achieved_per_s", r.achieved()},
      {"failed_per_s", r.failed_rate()},
      {"operations", number(r.operations)},
      {"issued", number(r.issued())},
      {"matched", number(r.matched())},
      {"differed", number(r.differed())},
      {"followed", number(r.followed())},
      {"followed_from", r.cause ? fmt::format("operation {} {} {}", r.cause->seq, op_name(r.cause->kind), r.cause->name) : ""},
      {"failed", number(r.failed())},
      {"unanswered", number(r.unanswered)},
      {"cancelled", number(r.cancelled)},
      {"unfinished", number(r.unfinished)},
      {"overdue", number(r.overdue)},
      {"unrecorded", number(r.unrecorded)},
      {"violations", number(r.violations)},
      {"edges", number(r.edges)},
      {"free_pairs", number(r.free_pairs)},
      {"window_full", number(r.window_full)},
      {"auxiliary", number(r.auxiliary)},
      {"blocks_compared", number(r.content.blocks)},
      {"bytes_compared", number(r.content.bytes)},
      {"blocks_unknown", number(r.content.unknown)},
      {"streams", number(r.streams)},
      {"objects", number(r.objects)},
      {"bytes_read", number(r.bytes_read)},
      {"bytes_written", number(r.bytes_written)},
      {"limited_by", r.limit_text},
      {"behind", number(r.behind)},
      {"behind_ns", r.behind_time},
      {"waited", number(r.waited)},
      {"waited_own_thread", number(r.waited_own)},
      {"silent_ns", r.silent},
      {"longest_silence_ns", r.longest_silence},
      {"stood_still_ns", r.stood_still},
      {"longest_stand_ns", r.longest_stand},
      {"stolen_ns", r.stolen},
      {"not_clean", lines(v.reasons)},
      {"requirements_missed", lines(v.missed)},
      {"exit_status", int64_t(v.status)},
  };
  facts.insert(facts.end(), further.begin(), further.end());
  for (const auto& section : report.sections) section->facts(facts);
  return facts;
}

Facts kind_facts(const KindResult& k) {
  return {{"issued", number(k.issued)},
          {"ok", number(k.ok)},
          {"matched", number(k.matched)},
          {"differed", number(k.differed)},
          {"followed", number(k.followed)},
          {"permission", number(k.permission)},
          {"uncompared", number(k.uncompared)},
          {"failed", number(k.failed)},
          {"awaited", number(k.awaited)},
          {"approximate", number(k.approximate)},
          {"impossible", number(k.impossible)},
          {"refused", number(k.refused)},
          {"bytes", number(k.bytes)}};
}

Facts distribution_facts(const Histogram& h) {
  return {{"count", number(h.count())},
          {"min_ns", h.min()},
          {"mean_ns", h.mean()},
          {"p50_ns", h.quantile(0.5)},
          {"p90_ns", h.quantile(0.9)},
          {"p99_ns", h.quantile(0.99)},
          {"p999_ns", h.quantile(0.999)},
          {"p9999_ns", h.quantile(0.9999)},
          {"max_ns", h.max()}};
}

Facts slow_facts(const SlowOperation& s) {
  return {{"seq", number(s.seq)},     {"kind", std::string(op_name(s.kind))},
          {"name", s.name},           {"object", number(s.object)},
          {"issued_ns", s.issued},    {"service_ns", s.service},
          {"recorded_ns", s.recorded}};
}

Facts mismatch_facts(const Mismatch& m) {
  return {{"seq", number(m.seq)},
          {"kind", std::string(op_name(m.kind))},
          {"name", m.name},
          {"object", number(m.object)},
          {"thread", number(m.thread)},
          {"expected", m.expected},
          {"got", m.got}};
}

Facts interval_facts(const SeriesInterval& i, std::string_view kind, const Measured& m) {
  Facts facts = {{"from_ns", i.from},
                 {"to_ns", i.to},
                 {"kind", std::string(kind)},
                 {"operations", number(m.operations)},
                 {"failed", number(m.failed)},
                 {"bytes_read", number(m.bytes_read)},
                 {"bytes_written", number(m.bytes_written)}};
  add_times(facts, "service", m.service);
  add_times(facts, "response", m.response);
  // These figures are known only for all kinds together.
  const bool all = kind.empty();
  facts.insert(facts.end(), {{"in_flight", number(all ? i.in_flight : 0)},
                             {"differed", number(all ? i.differed : 0)},
                             {"lateness_ns", all ? i.lateness : int64_t(0)}});
  return facts;
}

}  // namespace fsr
