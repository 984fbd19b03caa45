// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/live_section.hpp"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "report/facts.hpp"
#include "util/metrics_text.hpp"
#include "util/units.hpp"

namespace fsr {

std::string LiveSection::heading() const {
  std::string text = fmt::format(", live, lag {}", format_duration(options.lag));
  if (options.clones > 1) text += fmt::format(", {} clones", options.clones);
  return text;
}

std::string LiveSection::text() const {
  const LiveCounts& files = status.files;
  const bool trusts = options.files == LiveFiles::trust;
  std::string text = fmt::format("live       {} directories and {} files {} before their first use",
                                 format_count(files.directories), format_count(files.files), trusts ? "looked up" : "made");
  if (!trusts) text += fmt::format(", with {} of data", format_size(files.bytes));
  if (files.repeated)
    text += fmt::format("; prepared again {} times, because the target did not reply", format_count(files.repeated));
  text += "\n";
  if (status.lag.count())
    text += fmt::format(
        "lag        {} p50, {} p99, {} at most, counted from {}", format_duration(int64_t(status.lag.quantile(0.5))),
        format_duration(int64_t(status.lag.quantile(0.99))), format_duration(int64_t(status.lag.max())),
        from_arrival ? "the arrival of the first operation, because the capture has another clock" : "when operations started");
  if (status.lag.count() && status.most_spooled)
    text += fmt::format("; up to {} of the stream waited on disk", format_size(status.most_spooled));
  if (status.lag.count()) text += "\n";
  if (status.diverged || status.consequences)
    text += fmt::format("diverged   {} objects and names; {} outcomes differed as a consequence of earlier differences\n",
                        format_count(status.diverged), format_count(status.consequences));
  if (options.read_only) text += "read-only  changes and locks were not issued; they count as inexpressible\n";
  return text;
}

void LiveSection::facts(Facts& of_run) const {
  of_run.emplace_back("trace_id", id);
  of_run.emplace_back("clones", int64_t(options.clones));
}

void LiveSection::database(ResultsDatabase& results) const {
  if (!status.lag.count()) return;
  Facts lag{{"kind", std::string()}, {"what", std::string("lag")}};
  for (auto& fact : distribution_facts(status.lag)) lag.push_back(std::move(fact));
  results.add("distributions", lag);
  const std::pair<const char*, int64_t> counters[] = {{"lag_now_ns", status.lag_now},
                                                      {"lag_from_arrival", int64_t(from_arrival)},
                                                      {"left_out_while_behind", int64_t(status.left_out_in_all())},
                                                      {"most_bytes_spooled", int64_t(status.most_spooled)},
                                                      {"preparations_failed", int64_t(status.files.failed)},
                                                      {"diverged_objects", int64_t(status.diverged)},
                                                      {"differed_as_consequence", int64_t(status.consequences)}};
  for (const auto& [name, value] : counters) results.add("counters", {{"name", std::string(name)}, {"value", value}});
}

void LiveSection::json(nlohmann::json& document) const {
  const LiveCounts& files = status.files;
  nlohmann::json left_out = nlohmann::json::object();
  for (unsigned kind = 0; kind < kOpKinds; ++kind)
    if (status.left_out[kind]) left_out[op_name(OpKind(kind))] = status.left_out[kind];
  document["live"] = {{"lag_ns", options.lag},
                      {"clones", options.clones},
                      {"lag_p50_ns", status.lag.quantile(0.5)},
                      {"lag_p99_ns", status.lag.quantile(0.99)},
                      {"lag_max_ns", status.lag.max()},
                      {"lag_from", from_arrival ? "arrival" : "start"},
                      {"directories", files.directories},
                      {"files", files.files},
                      {"bytes", files.bytes},
                      {"repeated", files.repeated},
                      {"failed", files.failed},
                      {"left_out", left_out},
                      {"cut", status.cut},
                      {"diverged", status.diverged},
                      {"consequences", status.consequences},
                      {"spooled_bytes", status.most_spooled},
                      {"late_ends", late_ends},
                      {"dropped", dropped},
                      {"trusts", options.files == LiveFiles::trust}};
  document["trace"] = {{"id", id}, {"complete", damage.empty() && capture_failed.empty() && !dropped}, {"host", json_text(host)}};
}

void LiveSection::metrics(MetricsText& out) const {
  using Type = MetricsText::Type;
  out.metric("fsreplay_lag_seconds", Type::gauge,
             "From the start of an operation, or its arrival if the capture has another clock, to its start in the replay.");
  out.sample({{"from", from_arrival ? "arrival" : "start"}}, double(status.lag_now) / 1e9);
  out.metric("fsreplay_left_out", Type::counter, "Operations left out because the replay was behind (--when-behind).");
  for (unsigned kind = 0; kind < kOpKinds; ++kind)
    if (status.left_out[kind]) out.sample({{"kind", op_name(OpKind(kind))}}, double(status.left_out[kind]));
  out.metric("fsreplay_diverged", Type::gauge, "Objects and names that differ now, as far as outcomes have shown.");
  out.sample({}, double(status.diverged));
  out.metric("fsreplay_consequences", Type::counter, "Outcomes that differed because earlier ones did.");
  out.sample({}, double(status.consequences));
  out.metric("fsreplay_spooled_bytes", Type::gauge, "Bytes of the stream that wait on disk.");
  out.sample({}, double(status.spooled));
  out.metric("fsreplay_prepared", Type::counter, "Files and directories prepared before their first use.");
  out.sample({}, double(status.files.files + status.files.directories));
  out.metric("fsreplay_prepare_failed", Type::counter, "Operations that failed while they prepared files.");
  out.sample({}, double(status.files.failed));
}

std::vector<std::string> LiveSection::reasons() const {
  std::vector<std::string> reasons;
  if (!damage.empty()) reasons.push_back(damage);
  if (dropped) reasons.push_back(format_count(dropped) + " operations were dropped by the recorder");
  if (!capture_failed.empty()) reasons.push_back("the recording failed: " + capture_failed);
  if (late_ends)
    reasons.push_back(
        format_count(late_ends) +
        " operations took longer than three quarters of the lag, or 64 MiB came meanwhile; their outcomes came too late");
  if (status.gave_up)
    reasons.push_back(fmt::format("ended because the lag was {}, more than --lag-max {}", format_duration(status.gave_up),
                                  format_duration(options.lag_max)));
  if (const uint64_t n = status.left_out_in_all())
    reasons.push_back(
        fmt::format("{} operations were left out while the replay was behind: {}", format_count(n), status.left_out_text()));
  if (status.cut)
    reasons.push_back(fmt::format(
        "{} times, so many operations ran beside slow ones that files which they made may have been prepared before, as old ones",
        format_count(status.cut)));
  if (status.spool_failure)
    reasons.push_back(fmt::format("the stream could not wait on disk: {}", strerror(status.spool_failure)));
  else if (status.spool_full)
    reasons.push_back(fmt::format("the disk space for the stream was used up (--spool {}), so the capture had to wait",
                                  format_size(options.spool)));
  constexpr int64_t kLate = 2'000'000'000;  // ns
  if (late > kLate) reasons.push_back(fmt::format("the replay was {} behind its schedule at the end", format_duration(late)));
  if (status.files.failed)
    reasons.push_back(fmt::format("{} operations failed that prepared files before their first use, the first: {}",
                                  format_count(status.files.failed), status.files.first_failed));
  return reasons;
}

}  // namespace fsr
