// SPDX-License-Identifier: Apache-2.0
#include "inputs/trace/trace_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "engine/limit.hpp"
#include "report/report.hpp"
#include "util/units.hpp"

namespace fsr {

// A schedule is missed if its last operations are late by this much: ns, and 1/kLatePart of the schedule. A rank may wait for a
// second for an object that another rank was to make, and a busy machine adds to that.
constexpr int64_t kLateReplay = 2'000'000'000, kLatePart = 10;

// Returns the ordered changes of two ranks that were both issued, and not surely one after the other.
static std::vector<FinalOrder::Pair> swapped_in(const RunResult& run, const TraceSplit& split) {
  std::unordered_map<uint64_t, const NotedTimes*> times;
  for (const NotedTimes& noted : run.noted) times[noted.seq] = &noted;
  std::vector<FinalOrder::Pair> swapped;
  std::ranges::copy_if(split.ordered, std::back_inserter(swapped), [&](const FinalOrder::Pair& pair) {
    const auto earlier = times.find(pair.earlier), later = times.find(pair.later);
    return earlier != times.end() && later != times.end() && later->second->issued < earlier->second->ended;
  });
  return swapped;
}

void TraceSection::add_run(const RunResult& run) {
  planned = run.planned;
  recorded = run.recorded;
  elapsed = run.elapsed;
  missed = late_at_end(run) > std::max(kLateReplay, run.planned / kLatePart);
  if (split) swapped = swapped_in(run, *split);
}

std::string TraceSection::heading() const {
  std::string text = fmt::format(", timing {}, order {}, scale {:g}x", timing_name(timing), order_name(order), scale);
  if (clones > 1) text += fmt::format(", {} clones", clones);
  return text;
}

static std::string split_text(const TraceSplit& split, uint64_t learnt) {
  const auto largest = std::ranges::max_element(split.shares, {}, &TraceSplit::Share::load);
  std::string text = fmt::format(
      "split      over {} ranks: {:.2g} % of waits cut ({} of {}), {} lookups of objects that other ranks created or renamed, "
      "largest share {:.0f} % of the load\n",
      split.shares.size(), split.cut_part() * 100, format_count(split.cut), format_count(split.waits), format_count(learnt),
      largest->load * 100);
  if (const auto idle = std::ranges::count(split.shares, 0u, &TraceSplit::Share::operations))
    text += fmt::format("idle       {} of {} ranks: the trace has no more groups of threads without a common open file\n", idle,
                        split.shares.size());
  for (const std::string& cut : split.first_cut) text += "cut        " + cut + "\n";
  return text;
}

std::string TraceSection::text() const {
  std::string text;
  if (split) text += split_text(*split, learnt);
  for (const std::string& warning : warnings) text += "warning: " + warning + "\n";
  return text;
}

std::string TraceSection::duration() const {
  if (timing != Timing::original || planned == 0) return "";
  return fmt::format("; the last operation was due after {} (recorded after {})", format_duration(planned),
                     format_duration(recorded));
}

void TraceSection::json(nlohmann::json& document) const {
  nlohmann::json places = nlohmann::json::array();
  for (const TraceDamage& d : damage)
    places.push_back(
        {{"offset", d.file_offset}, {"bytes", d.file_bytes}, {"from_ns", d.from}, {"to_ns", d.to}, {"what", d.what}});
  document["trace"] = {{"id", id}, {"complete", complete}, {"damage", places}, {"host", json_text(host)}};
  document["warnings"] = warnings;
  if (!split) return;
  nlohmann::json shares = nlohmann::json::array();
  for (const TraceSplit::Share& share : split->shares)
    shares.push_back({{"operations", share.operations}, {"streams", share.streams}, {"load", share.load}});
  nlohmann::json first = nlohmann::json::array();
  for (const std::string& cut : split->first_cut) first.push_back(json_text(cut));
  document["split"] = {{"waits", split->waits},         {"cut", split->cut}, {"first_cut", first},
                       {"looked_up", learnt},           {"shares", shares},  {"ordered", split->ordered.size()},
                       {"not_in_order", swapped.size()}};
}

void TraceSection::facts(Facts& of_run) const {
  of_run.emplace_back("trace_id", id);
  of_run.emplace_back("clones", int64_t(clones));
}

std::vector<std::string> TraceSection::reasons() const {
  std::vector<std::string> reasons;
  if (!complete) reasons.push_back("the trace is incomplete");
  if (!damage.empty()) reasons.push_back(format_count(damage.size()) + " damaged or missing parts of the trace");
  if (!swapped.empty()) {
    const FinalOrder::Pair& first = swapped.front();
    reasons.push_back(
        fmt::format("{} did not surely follow an earlier change of another rank, so the trees may differ: operation {} ({}) "
                    "after {} ({}){}",
                    swapped.size() == 1 ? "1 change" : format_count(swapped.size()) + " changes", first.later,
                    op_name(first.later_kind), first.earlier, op_name(first.earlier_kind), swapped.size() > 1 ? ", …" : ""));
  }
  if (missed)
    reasons.push_back(
        fmt::format("the schedule was missed: it took {} instead of {}", format_duration(elapsed), format_duration(planned)));
  return reasons;
}

}  // namespace fsr
