// SPDX-License-Identifier: Apache-2.0
#include "inputs/trace/trace_section.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/report.hpp"
#include "util/units.hpp"

namespace fsr {

std::string TraceSection::heading() const {
  std::string text = fmt::format(", timing {}, order {}, scale {:g}x", timing_name(timing), order_name(order), scale);
  if (clones > 1) text += fmt::format(", {} clones", clones);
  return text;
}

std::string TraceSection::text() const {
  std::string text;
  for (const std::string& warning : warnings) text += "warning: " + warning + "\n";
  return text;
}

std::string TraceSection::duration() const {
  if (timing != Timing::original || planned == 0) return "";
  return fmt::format(", planned {} for the last operation to start; recorded {}", format_duration(planned),
                     format_duration(recorded));
}

void TraceSection::json(nlohmann::json& document) const {
  nlohmann::json places = nlohmann::json::array();
  for (const TraceDamage& d : damage)
    places.push_back(
        {{"offset", d.file_offset}, {"bytes", d.file_bytes}, {"from_ns", d.from}, {"to_ns", d.to}, {"what", d.what}});
  document["trace"] = {{"id", id}, {"complete", complete}, {"damage", places}, {"host", json_text(host)}};
  document["warnings"] = warnings;
}

void TraceSection::facts(Facts& of_run) const {
  of_run.emplace_back("trace_id", id);
  of_run.emplace_back("clones", int64_t(clones));
}

std::vector<std::string> TraceSection::reasons() const {
  std::vector<std::string> reasons;
  if (!complete) reasons.push_back("the trace is incomplete");
  if (!damage.empty()) reasons.push_back(format_count(damage.size()) + " damaged or missing stretches in the trace");
  return reasons;
}

}  // namespace fsr
