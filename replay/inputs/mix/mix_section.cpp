// SPDX-License-Identifier: Apache-2.0
#include "inputs/mix/mix_section.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "util/units.hpp"

namespace fsr {

namespace {

using nlohmann::json;

std::string deviation_text(const MixDeviation& d) {
  if (d.where.empty()) return "as requested";
  return fmt::format("{:.2f} % off the requested mix in total, {:.2f} % at most ({})", d.total, d.largest, d.where);
}

json deviation(const MixDeviation& d) {
  return {{"total_percent", d.total}, {"largest_percent", d.largest}, {"largest", d.where}};
}

json mix_json(const MixResult& mix) {
  json procedures = json::object();
  for (const MixRow& row : mix.rows) {
    json& p = procedures[row.name] = {
        {"asked", row.asked}, {"issued", row.issued}, {"failed", row.failed}, {"issued_share", row.issued_share}};
    if (mix.wire_known) p.update({{"wire", row.wire}, {"wire_share", row.wire_share}});
  }
  json out = {{"dialect", json_text(mix.dialect)}, {"load", mix.load},   {"calls", mix.calls},  {"procedures", procedures},
              {"issued", deviation(mix.issued)},   {"notes", mix.notes}, {"valid", mix.valid()}};
  if (mix.wire_known)
    out.update({{"wire", deviation(mix.wire)},
                {"wire_calls", mix.wire_calls},
                {"wire_internal", mix.wire_internal},
                {"wire_comparable", mix.wire_comparable}});
  return out;
}

json curve_json(const std::vector<CurvePoint>& curve) {
  json out = json::array();
  for (const CurvePoint& p : curve)
    out.push_back({{"asked_per_s", p.asked},
                   {"achieved_per_s", p.achieved},
                   {"calls", p.calls},
                   {"mean_ns", p.mean},
                   {"p50_ns", p.p50},
                   {"p90_ns", p.p90},
                   {"p99_ns", p.p99},
                   {"mix_deviation_percent", p.deviation},
                   {"limited_by", p.limit},
                   {"exit_status", p.status}});
  return out;
}

}  // namespace

std::string MixSection::heading() const {
  return fmt::format(", {}, {}", mix_.dialect, mix_.load > 0 ? fmt::format("{:g} calls/s", mix_.load) : "as fast as possible");
}

std::string MixSection::text() const {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "\n{:<16} {:>8} {:>8}{}\n", "mix", "asked", "issued", mix_.wire_known ? "     wire" : "");
  for (const MixRow& row : mix_.rows) {
    fmt::format_to(out, "{:<16} {:>6.2f} % {:>6.2f} %", row.name, row.asked * 100, row.issued_share * 100);
    if (mix_.wire_known) fmt::format_to(out, " {:>6.2f} %", row.wire_share * 100);
    text += '\n';
  }
  fmt::format_to(out, "issued     {} calls, {}\n", format_count(mix_.calls), deviation_text(mix_.issued));
  if (mix_.wire_known) {
    fmt::format_to(out, "wire       {} requests, {}", format_count(mix_.wire_calls),
                   mix_.wire_comparable ? deviation_text(mix_.wire) : "of NFS version 3, not comparable with a mix of version 4");
    if (mix_.wire_internal) fmt::format_to(out, "; and {} internal requests of the client", format_count(mix_.wire_internal));
    text += '\n';
  }
  for (const std::string& note : mix_.notes) fmt::format_to(out, "mix        {}\n", note);
  return text;
}

void MixSection::json(nlohmann::json& document) const {
  document["mix"] = mix_json(mix_);
  if (!curve_->empty()) document["curve"] = curve_json(*curve_);
}

void MixSection::facts(Facts& of_run) const {
  of_run.emplace_back("asked_per_s", mix_.load);
  of_run.emplace_back("mix_dialect", mix_.dialect);
  of_run.emplace_back("mix_deviation_percent", mix_.deviation().total);
  of_run.emplace_back("seed", int64_t(seed_));
}

void MixSection::database(ResultsDatabase& results) const {
  for (const MixRow& row : mix_.rows)
    results.add("mix", {{"procedure", std::string(row.name)},
                        {"asked", row.asked},
                        {"issued", int64_t(row.issued)},
                        {"failed", int64_t(row.failed)},
                        {"issued_share", row.issued_share},
                        {"wire", mix_.wire_known ? int64_t(row.wire) : -1},
                        {"wire_share", row.wire_share}});
}

std::vector<std::string> MixSection::reasons() const {
  std::vector<std::string> reasons;
  if (mix_.calls != 0 && !mix_.valid())
    reasons.push_back(fmt::format("INVALID RUN, mix generated is off by {:.2f}%", mix_.deviation().total));
  if (mix_.missed)
    reasons.push_back(fmt::format("the load of {:g} calls/s was missed: the last calls ended too late", mix_.load));
  return reasons;
}

}  // namespace fsr
