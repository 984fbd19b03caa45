// SPDX-License-Identifier: Apache-2.0
#include "report/facts.hpp"

#include <functional>

#include "engine/figures.hpp"
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

SqlValue value_of(const std::string& text) { return text; }
SqlValue value_of(double real) { return real; }
template <class Whole>
SqlValue value_of(Whole whole) {
  return int64_t(whole);
}

template <class Rows, class Owner>
void add_figures(Facts& facts, const Rows& rows, const Owner& owner) {
  auto add = [&](const auto& row, const auto& of) {
    if constexpr (requires { row.member; }) {
      if (row.name) facts.emplace_back(row.name, value_of(of.*row.member));
    } else {
      facts.emplace_back(row.name, value_of(std::invoke(row.value, of)));
    }
  };
  figures::each(rows, add, owner);
}

std::string lines(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& line : list) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace

Facts run_facts(const Report& report) {
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
  };
  facts.insert(facts.end(), further.begin(), further.end());
  add_figures(facts, figures::kOfRun, report.result);
  facts.insert(facts.end(), {
                                {"not_clean", lines(v.reasons)},
                                {"requirements_missed", lines(v.missed)},
                                {"exit_status", int64_t(v.status)},
                            });
  for (const auto& section : report.sections) section->facts(facts);
  return facts;
}

Facts kind_facts(const KindResult& kind) {
  Facts facts;
  add_figures(facts, figures::kOfKind, kind);
  return facts;
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

Histogram recorded_times(const RunResult& result) {
  Histogram all;
  for (const KindResult& kind : result.kinds) all.merge(kind.recorded);
  return all;
}

Facts slow_facts(const SlowOperation& s) {
  return {{"seq", number(s.seq)},     {"kind", std::string(op_name(s.kind))},
          {"name", s.name},           {"object", number(s.object)},
          {"issued_ns", s.issued},    {"service_ns", s.service},
          {"recorded_ns", s.recorded}};
}

std::vector<Facts> made_of_facts(const MadeOf& made_of) {
  std::vector<Facts> all;
  for (size_t row = 0; row < MadeOf::kRows; ++row) {
    const MadeOf::Row& of = made_of.rows()[row];
    if (!of.operations) continue;
    all.push_back({{"low_ns", MadeOf::low(row)},
                   {"high_ns", row + 1 < MadeOf::kRows ? MadeOf::low(row + 1) - 1 : INT64_MAX},
                   {"operations", number(of.operations)},
                   {"service_ns", of.service},
                   {"waiting_ns", of.waiting},
                   {"lateness_ns", of.lateness}});
  }
  return all;
}

Facts mismatch_facts(const Mismatch& m) {
  return {{"seq", number(m.seq)},
          {"kind", std::string(op_name(m.kind))},
          {"name", m.name},
          {"object", number(m.object)},
          {"thread", number(m.thread)},
          {"expected", m.expected},
          {"got", m.got},
          {"issued_ns", m.issued}};
}

Facts difference_facts(const Difference& d) {
  return {{"kind", std::string(op_name(d.kind))},
          {"expected", d.expected},
          {"got", d.got},
          {"count", number(d.count)},
          {"first_ns", d.first},
          {"last_ns", d.last},
          {"first_seq", number(d.first_seq)},
          {"example", d.example}};
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
  auto if_known = [all](const auto& value) -> SqlValue {
    if (!all || !value) return nullptr;
    return value_of(*value);
  };
  facts.insert(facts.end(), {{"in_flight", number(all ? i.in_flight : 0)},
                             {"differed", number(all ? i.differed : 0)},
                             {"lateness_ns", all ? i.lateness : int64_t(0)}});
  add_times(facts, "recorded", m.recorded);
  facts.insert(facts.end(), {{"due", if_known(i.due)},
                             {"issued", if_known(i.issued)},
                             {"waiting_mean_ns", if_known(i.waiting_mean)},
                             {"lateness_mean_ns", if_known(i.lateness_mean)},
                             {"ranks", if_known(i.ranks)}});
  return facts;
}

}  // namespace fsr
