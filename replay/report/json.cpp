// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "report/report.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

using nlohmann::json;

json histogram(const Histogram& h) {
  return {{"count", h.count()},        {"min_ns", h.min()},          {"mean_ns", h.mean()},          {"p50_ns", h.quantile(0.5)},
          {"p90_ns", h.quantile(0.9)}, {"p99_ns", h.quantile(0.99)}, {"p999_ns", h.quantile(0.999)}, {"max_ns", h.max()}};
}

json mismatches(const std::vector<Mismatch>& list) {
  json out = json::array();
  for (const Mismatch& m : list)
    out.push_back({{"seq", m.seq},
                   {"kind", op_name(m.kind)},
                   {"name", json_text(m.name)},
                   {"object", m.object},
                   {"thread", m.thread},
                   {"expected", m.expected},
                   {"got", m.got}});
  return out;
}

json kinds(const RunResult& r) {
  json out = json::object();
  for (unsigned i = 0; i < kOpKinds; ++i) {
    const KindResult& k = r.kinds[i];
    if (!k.issued && !k.impossible && !k.refused) continue;
    out[op_name(OpKind(i))] = {{"issued", k.issued},
                               {"ok", k.ok},
                               {"matched", k.matched},
                               {"differed", k.differed},
                               {"permission", k.permission},
                               {"uncompared", k.uncompared},
                               {"approximate", k.approximate},
                               {"failed", k.failed},
                               {"awaited", k.awaited},
                               {"impossible", k.impossible},
                               {"refused", k.refused},
                               {"bytes", k.bytes},
                               {"service", histogram(k.service)}};
  }
  return out;
}

}  // namespace

std::string report_json(const Report& report) {
  const RunResult& r = report.result;
  const ImageSummary& i = report.image;
  Verdict v = verdict(report);
  json counters = json::object();
  for (const auto& [name, value] : report.counters) counters[name] = value;
  json out = {
      {"input", json_text(report.input)},
      {"target", json_text(report.target)},
      {"started_ns", report.started},
      {"options",
       {{"timing", timing_name(report.options.timing)},
        {"order", order_name(report.options.order)},
        {"scale", report.options.scale},
        {"uid", report.acting_as},
        {"workers", r.workers}}},
      {"image",
       {{"directories", i.directories},
        {"files", i.files},
        {"symlinks", i.symlinks},
        {"hard_links", i.hard_links},
        {"special", i.special},
        {"bytes", i.bytes},
        {"apparent_bytes", i.apparent},
        {"kept", report.prepared.kept},
        {"failed", report.prepared.failed},
        {"failures", mismatches(report.prepared.failures)},
        {"elapsed_ns", report.prepared.elapsed}}},
      {"operations", r.operations},
      {"issued", r.issued()},
      {"matched", r.matched()},
      {"differed", r.differed()},
      {"failed", r.failed()},
      {"unanswered", r.unanswered},
      {"cancelled", r.cancelled},
      {"unfinished", r.unfinished},
      {"unrecorded", r.unrecorded},
      {"violations", r.violations},
      {"edges", r.edges},
      {"free_pairs", r.free_pairs},
      {"window_full", r.window_full},
      {"auxiliary", r.auxiliary},
      {"blocks_compared", r.content.blocks},
      {"bytes_compared", r.content.bytes},
      {"blocks_unknown", r.content.unknown},
      {"streams", r.streams},
      {"objects", r.objects},
      {"bytes_read", r.bytes_read},
      {"bytes_written", r.bytes_written},
      {"elapsed_ns", r.elapsed},
      {"planned_ns", r.planned},
      {"recorded_ns", r.recorded},
      {"offered_per_s", r.offered()},
      {"achieved_per_s", r.achieved()},
      {"failed_per_s", r.failed_rate()},
      {"limit", r.limit_text},
      {"behind", r.behind},
      {"behind_ns", r.behind_time},
      {"waited", r.waited},
      {"waited_own_thread", r.waited_own},
      {"silent_ns", r.silent},
      {"longest_silence_ns", r.longest_silence},
      {"lateness", histogram(r.lateness)},
      {"waiting", histogram(r.waiting)},
      {"service", histogram(r.service)},
      {"response", histogram(r.response)},
      {"failing", histogram(r.failing)},
      {"kinds", kinds(r)},
      {"mismatches", mismatches(r.mismatches)},
      {"counters", counters},
      {"not_clean", v.reasons},
      {"exit_status", v.status},
  };
  for (const auto& section : report.sections) section->json(out);
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace fsr
