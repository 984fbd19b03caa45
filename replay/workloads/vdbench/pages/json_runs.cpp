// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/json_runs.hpp"

#include "workloads/vdbench/pages/parts.hpp"

namespace fsr::vdbench {

namespace {

using nlohmann::json;

json times(const Histogram& h) {
  return {{"mean_ns", h.mean()},        {"p50_ns", h.quantile(0.5)},    {"p90_ns", h.quantile(0.9)},
          {"p99_ns", h.quantile(0.99)}, {"p999_ns", h.quantile(0.999)}, {"p9999_ns", h.quantile(0.9999)},
          {"max_ns", h.max()}};
}

json cell(const Cell& c, double seconds) {
  return {{"rate", rate(c, seconds)},    {"count", c.count},
          {"failed", c.failed},          {"bytes", c.bytes},
          {"service", times(c.service)}, {"response", times(c.response)}};
}

json line(const RunLine& l) {
  json out = cell(l.all.requested, l.seconds);
  out["label"] = l.label;
  out["seconds"] = l.seconds;
  out["cpu_percent"] = l.cpu.busy();
  for (unsigned o = 0; o < kOperations; ++o)
    if (const Cell& c = l.all.operations[o]; c.count + c.failed != 0) out["operations"][kOperationNames[o]] = cell(c, l.seconds);
  return out;
}

json parts(const RunRecord& record, PartKind kind) {
  json out = json::object();
  for (const RunPart& part : parts_of(*record.run, kind)) {
    out[part.name] = cell(figures_of(part, record.average).requested, record.average.seconds);
    out[part.name]["share_asked_percent"] = part.share;
  }
  return out;
}

}  // namespace

void JsonRuns::end(const RunRecord& record) {
  const PlannedRun& run = *record.run;
  json intervals = json::array();
  for (const RunLine& l : record.intervals) intervals.push_back(line(l));
  json out = {{"name", run.name},
              {"loops", run.loops},
              {"formats", run.formats},
              {"asked_per_s", run.rate.kind == Rate::fixed && !run.formats ? json(run.rate.value) : json()},
              {"average", line(record.average)},
              {"intervals", std::move(intervals)},
              {"errors", record.errors}};
  for (const PartKind kind : {PartKind::storage, PartKind::workload}) out[part_words(run, kind)] = parts(record, kind);
  runs_.push_back(std::move(out));
  if (run.formats) return;
  rows_.push_back({{"name", run.loops == "None" ? run.name : run.name + " " + run.loops},
                   {"unit", "op/s"},
                   {"rate", rate(record.average.all.requested, record.average.seconds)}});
}

json JsonRuns::document() const { return {{"program", "vdbench"}, {"rows", rows_}, {"runs", runs_}}; }

}  // namespace fsr::vdbench
