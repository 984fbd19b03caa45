// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/live_section.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "util/units.hpp"

namespace fsr {

std::string LiveSection::heading() const { return fmt::format(", live, lag {}", format_duration(lag)); }

std::string LiveSection::text() const {
  const char* done = trusts ? "looked up" : "made";
  std::string text = fmt::format("live       {} directories and {} files {} before their first use",
                                 format_count(files.directories), format_count(files.files), done);
  if (!trusts) text += fmt::format(", with {} of data", format_size(files.bytes));
  if (behind > 0) text += fmt::format("; operations came up to {} later than due", format_duration(behind));
  return text + "\n";
}

void LiveSection::facts(Facts& of_run) const { of_run.emplace_back("trace_id", id); }

void LiveSection::json(nlohmann::json& document) const {
  document["live"] = {{"lag_ns", lag},          {"behind_ns", behind},  {"directories", files.directories},
                      {"files", files.files},   {"bytes", files.bytes}, {"failed", files.failed},
                      {"late_ends", late_ends}, {"dropped", dropped},   {"trusts", trusts}};
  document["trace"] = {{"id", id}, {"complete", damage.empty() && capture_failed.empty() && !dropped}, {"host", json_text(host)}};
}

std::vector<std::string> LiveSection::reasons() const {
  std::vector<std::string> reasons;
  if (!damage.empty()) reasons.push_back(damage);
  if (dropped) reasons.push_back(format_count(dropped) + " operations were dropped by the recorder");
  if (!capture_failed.empty()) reasons.push_back("the recording failed: " + capture_failed);
  if (late_ends)
    reasons.push_back(format_count(late_ends) +
                      " operations took longer than three quarters of the lag; their outcomes came too late");
  constexpr int64_t kLate = 2'000'000'000;  // ns
  if (late > kLate) reasons.push_back(fmt::format("the replay was {} behind its schedule at the end", format_duration(late)));
  if (files.failed)
    reasons.push_back(fmt::format("{} operations failed that prepared files before their first use, the first: {}",
                                  format_count(files.failed), files.first_failed));
  return reasons;
}

}  // namespace fsr
