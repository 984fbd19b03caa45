// SPDX-License-Identifier: Apache-2.0
// Writes the runs as one JSON document.
#include <nlohmann/json.hpp>

#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr::vdbench {

namespace {

using nlohmann::json;

json times(const Histogram& h) {
  return {{"mean_ns", h.mean()},        {"p50_ns", h.quantile(0.5)},    {"p90_ns", h.quantile(0.9)},
          {"p99_ns", h.quantile(0.99)}, {"p999_ns", h.quantile(0.999)}, {"p9999_ns", h.quantile(0.9999)},
          {"max_ns", h.max()}};
}

json cell(const KindCounters& c, double seconds) {
  return {{"rate", rate(c, seconds)},    {"count", c.count},
          {"failed", c.failed},          {"bytes", c.bytes},
          {"service", times(c.service)}, {"response", times(c.response)}};
}

void add_parts(json& out, const PlannedRun& run, const RunLine& line) {
  for (const PartKind kind : {PartKind::storage, PartKind::workload})
    for (const RunPart& part : parts_of(run, kind)) {
      json& its = out[part_words(run, kind)][part.name] = cell(figures_of(part, line).requested, line.seconds);
      its["share_asked_percent"] = part.share;
    }
}

json line(const RunLine& l) {
  json out = cell(l.all.requested, l.seconds);
  out["label"] = l.label;
  out["seconds"] = l.seconds;
  out["cpu_percent"] = l.cpu.busy();
  for (unsigned o = 0; o < kOperations; ++o)
    if (const KindCounters& c = l.all.operations[o]; c.count + c.failed != 0)
      out["operations"][kOperationNames[o]] = cell(c, l.seconds);
  return out;
}

class JsonRuns final : public RunPage {
 public:
  explicit JsonRuns(json& document) : document_(document) {
    document_ = {{"program", "vdbench"}, {"rows", json::array()}, {"runs", json::array()}};
  }
  void begin(const RunRecord&, const std::string&) override { intervals_ = json::array(); }
  void interval(const RunRecord& record) override {
    intervals_.push_back(line(record.latest));
    add_parts(intervals_.back(), *record.run, record.latest);
  }
  void end(const RunRecord& record) override {
    const PlannedRun& run = *record.run;
    json out = {{"name", run.name},
                {"loops", run.loops},
                {"formats", run.formats},
                {"asked_per_s", run.rate.kind == Rate::fixed && !run.formats ? json(run.rate.value) : json()},
                {"average", line(record.average)},
                {"intervals", std::move(intervals_)},
                {"errors", record.errors}};
    add_parts(out, run, record.average);
    const std::vector<RunLine>& by_rank = record.average.ranks;
    for (const RankLine& rank : record.ranks)
      out["ranks"].push_back({{"rank", rank.rank},
                              {"host", rank.host},
                              {"cpu_percent", rank.rank < by_rank.size() ? json(by_rank[rank.rank].cpu.busy()) : json()},
                              {"seconds", rank.seconds},
                              {"operations", rank.operations},
                              {"failed", rank.failed},
                              {"bytes", rank.bytes}});
    if (const std::string limit = limit_of(record); !limit.empty()) out["limited_by"] = limit;
    document_["runs"].push_back(std::move(out));
    if (run.formats) return;
    document_["rows"].push_back({{"name", run.label()},
                                 {"unit", "op/s"},
                                 {"rate", rate(record.average.all.requested, record.average.seconds)},
                                 {"offered_per_s", run.rate.kind == Rate::fixed ? run.rate.value : 0.0},
                                 {"response", times(record.average.all.requested.response)}});
  }

 private:
  json& document_;
  json intervals_;
};

}  // namespace

std::unique_ptr<RunPage> json_page(json& document) { return std::make_unique<JsonRuns>(document); }

}  // namespace fsr::vdbench
