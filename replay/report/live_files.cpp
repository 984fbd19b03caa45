// SPDX-License-Identifier: Apache-2.0
#include "report/live_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "engine/run.hpp"
#include "report/facts.hpp"
#include "util/metrics_text.hpp"

namespace fsr {

namespace {

std::string csv_text(const Facts& facts, bool headings) {
  std::string text;
  for (const auto& [name, value] : facts) {
    text += ',';
    if (headings)
      text += name;
    else
      std::visit(
          [&](const auto& v) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(v)>, std::nullptr_t>) text += fmt::format("{}", v);
          },
          value);
  }
  return text + "\n";
}

}  // namespace

CsvFile::CsvFile(const std::string& path, bool replace) : path_(path), file_(nullptr, fclose) {
  if (!replace && access(path.c_str(), F_OK) == 0)
    throw std::runtime_error(path + ": exists already; give --force to replace the file, or another name");
  file_.reset(fopen(path.c_str(), "we"));
  if (!file_) throw std::runtime_error(path + ": " + strerror(errno));
  line("round" + csv_text(interval_facts({}, "", {}), true));
  if (!failure_.empty()) throw std::runtime_error(failure_);
}

void CsvFile::line(const std::string& text) {
  if (!failure_.empty()) return;
  if (fputs(text.c_str(), file_.get()) < 0 || fflush(file_.get()) != 0) failure_ = path_ + ": " + strerror(errno);
}

void CsvFile::add(unsigned round, const SeriesInterval& interval) {
  const std::string first = std::to_string(round);
  std::string text = first + csv_text(interval_facts(interval, "", interval.all), false);
  for (const auto& [kind, measured] : interval.kinds)
    text += first + csv_text(interval_facts(interval, op_name(kind), measured), false);
  line(text);
}

// Prints quantiles without a value for an interval in which nothing completed, because 0 would look like a fast target.
static void times(MetricsText& out, const char* kind, const Histogram& all, const Histogram& now) {
  for (const auto& [name, q] : {std::pair("0.5", 0.5), {"0.9", 0.9}, {"0.99", 0.99}, {"0.999", 0.999}})
    out.sample({{"kind", kind}, {"quantile", name}}, now.count() ? double(now.quantile(q)) / 1e9 : NAN);
  out.sample({{"kind", kind}}, all.sum() / 1e9, "_sum");
  out.sample({{"kind", kind}}, double(all.count()), "_count");
}

MetricsFile::MetricsFile(const std::string& path, const std::string& input, const std::string& target)
    : path_(path), input_(input), target_(target) {
  add({0, 0, 0, Tally(), false}, {});
  if (!failure_.empty()) throw std::runtime_error(failure_);
}

void MetricsFile::add(const Interval& interval, const SeriesInterval& series,
                      const std::vector<std::shared_ptr<const ReportSection>>& sections,
                      const std::vector<std::pair<std::string, uint64_t>>& of_target) {
  using Type = MetricsText::Type;
  sum_.merge(interval.counts);
  differed_ += series.differed;
  MetricsText out;
  auto each = [&](auto sample) {
    for (Row row = 0; row < kOpKinds; ++row)
      if (const KindCounters& cell = sum_[row]; cell.count + cell.failed)
        sample(op_name(OpKind(row)), cell, interval.counts[row]);
  };
  out.metric("fsreplay", Type::info, "Input and target of the run.");
  out.sample({{"input", input_}, {"target", target_}}, 1);
  out.metric("fsreplay_operations", Type::counter, "Operations that completed without failure.");
  each([&](const char* kind, const KindCounters& all, const KindCounters&) { out.sample({{"kind", kind}}, double(all.count)); });
  out.metric("fsreplay_failed", Type::counter, "Operations that failed otherwise than recorded, or had no reply.");
  each([&](const char* kind, const KindCounters& all, const KindCounters&) { out.sample({{"kind", kind}}, double(all.failed)); });
  out.metric("fsreplay_bytes", Type::counter, "Bytes read, written and copied.");
  each([&](const char* kind, const KindCounters& all, const KindCounters&) { out.sample({{"kind", kind}}, double(all.bytes)); });
  out.metric("fsreplay_service_seconds", Type::summary, "From issue to completion; quantiles of the last interval.");
  each([&](const char* kind, const KindCounters& all, const KindCounters& now) { times(out, kind, all.service, now.service); });
  out.metric("fsreplay_response_seconds", Type::summary, "From due to completion; quantiles of the last interval.");
  each([&](const char* kind, const KindCounters& all, const KindCounters& now) { times(out, kind, all.response, now.response); });
  out.metric("fsreplay_differed", Type::counter, "Operations whose outcome differed from the recorded one.");
  out.sample({}, double(differed_));
  out.metric("fsreplay_in_flight", Type::gauge, "Operations in flight.");
  out.sample({}, double(series.in_flight));
  out.metric("fsreplay_lateness_seconds", Type::gauge, "Greatest lateness of fsreplay in the last interval.");
  out.sample({}, double(series.lateness) / 1e9);
  out.metric("fsreplay_elapsed_seconds", Type::gauge, "Seconds since the start of the run.");
  out.sample({}, double(interval.to) / 1e9);
  if (!of_target.empty())
    out.metric("fsreplay_target_events", Type::counter, "What the target did beside the operations, and lost; as in the report.");
  for (const auto& [what, count] : of_target) out.sample({{"what", what}}, double(count));
  for (const auto& section : sections) section->metrics(out);
  write(out);
}

void MetricsFile::finish(const RunResult& result) {
  overdue_ += result.overdue;
  unfinished_ += result.unfinished;
  unanswered_ += result.unanswered;
  stood_still_ += result.stood_still;
  MetricsText out;
  out.metric("fsreplay_without_answer", MetricsText::Type::counter, "Operations without a reply, known when a run has ended.");
  out.sample({{"why", "overdue"}}, double(overdue_));
  out.sample({{"why", "unfinished"}}, double(unfinished_));
  out.sample({{"why", "unanswered"}}, double(unanswered_));
  out.metric("fsreplay_stood_still_seconds", MetricsText::Type::counter, "Time in which no thread of fsreplay ran.");
  out.sample({}, double(stood_still_) / 1e9);
  at_end_ = out.text();
  failure_ = replace_file(path_, during_ + at_end_ + MetricsText().finish());
}

void MetricsFile::write(const MetricsText& text) {
  during_ = text.text();
  failure_ = replace_file(path_, during_ + at_end_ + MetricsText().finish());
}

}  // namespace fsr
