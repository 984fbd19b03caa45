// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "engine/figures.hpp"
#include "measure/bound.hpp"
#include "measure/stood_still.hpp"
#include "report/report.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

using Out = std::back_insert_iterator<std::string>;

void histogram_line(Out out, const char* name, const Histogram& h, const Histogram& open) {
  if (!h.count()) return;
  fmt::format_to(out, "  {:<10} {:>11} {:>11} {:>11} {:>11} {:>11}\n", name, quantile_text(h, open, 0.5),
                 quantile_text(h, open, 0.99), quantile_text(h, open, 0.999), quantile_text(h, open, 1), mean_text(h, open));
}

bool has_times_of_capture(const RunResult& r) {
  return std::any_of(r.kinds.begin(), r.kinds.end(), [](const KindResult& k) { return k.recorded.count() != 0; });
}

// Prints how often each kind was issued, and its outcomes. Adds its service times unless they have a table of their own.
void kinds_table(Out out, const RunResult& r, const std::string& as) {
  const bool times = !has_times_of_capture(r);
  fmt::format_to(out, "\n{:<16} {:>11} {:>11} {:>9} {:>11}", "operation", "issued", as, "differed", "not issued");
  if (times) fmt::format_to(out, " {:>9} {:>9}", "p50", "p99");
  fmt::format_to(out, "\n");
  for (unsigned i = 0; i < kOpKinds; ++i) {
    const KindResult& k = r.kinds[i];
    uint64_t skipped = k.impossible + k.refused;
    if (!k.issued && !skipped) continue;
    fmt::format_to(out, "{:<16} {:>11} {:>11} {:>9} {:>11}", op_name(OpKind(i)), format_count(k.issued), format_count(k.matched),
                   format_count(k.differed), format_count(skipped));
    if (times)
      fmt::format_to(out, " {:>9} {:>9}", format_duration(k.service.quantile(0.5)), format_duration(k.service.quantile(0.99)));
    fmt::format_to(out, "\n");
  }
}

std::string ratio_text(int64_t replayed, int64_t recorded) {
  return recorded > 0 ? fmt::format("{:.2f}", double(replayed) / double(recorded)) : "";
}

// Prints recorded times beside replayed ones, of operations that have both.
void times_table(Out out, const RunResult& r) {
  if (!has_times_of_capture(r)) return;
  fmt::format_to(out, "\n{:<16} {:>10} {:>10} {:>8} {:>11} {:>10} {:>8}\n", "time", "recorded", "replayed", "ratio", "recorded",
                 "replayed", "ratio");
  fmt::format_to(out, "{:<16} {:>10} {:>10} {:>8} {:>11} {:>10} {:>8}\n", "", "p50", "p50", "p50", "p99", "p99", "p99");
  for (unsigned i = 0; i < kOpKinds; ++i) {
    const KindResult& k = r.kinds[i];
    if (!k.recorded.count()) continue;
    const int64_t was50 = k.recorded.quantile(0.5), is50 = k.service.quantile(0.5), was99 = k.recorded.quantile(0.99),
                  is99 = k.service.quantile(0.99);
    fmt::format_to(out, "{:<16} {:>10} {:>10} {:>8} {:>11} {:>10} {:>8}\n", op_name(OpKind(i)), format_duration(was50),
                   format_duration(is50), ratio_text(is50, was50), format_duration(was99), format_duration(is99),
                   ratio_text(is99, was99));
  }
}

// Returns how many operations were behind the schedule, and what they waited for.
std::string behind_text(const RunResult& r) {
  std::string text = fmt::format("{} operations were issued more than {} after their due time", format_count(r.behind),
                                 format_duration(kBehind));
  if (!r.waited) return text;
  std::vector<unsigned> kinds(kOpKinds);
  std::iota(kinds.begin(), kinds.end(), 0u);
  std::stable_sort(kinds.begin(), kinds.end(), [&](unsigned a, unsigned b) { return r.kinds[a].awaited > r.kinds[b].awaited; });
  text += fmt::format("; {} waited for other operations, {} of these for their own thread:", format_count(r.waited),
                      format_count(r.waited_own));
  constexpr size_t kNamed = 3;
  for (size_t i = 0; i < kNamed && r.kinds[kinds[i]].awaited; ++i)
    text += fmt::format("{} {} {}", i ? "," : "", format_count(r.kinds[kinds[i]].awaited), op_name(OpKind(kinds[i])));
  return text;
}

void load_lines(Out out, const Report& report) {
  const RunResult& r = report.result;
  double seconds = double(r.elapsed) / 1e9;
  fmt::format_to(out, "\nload       achieved {:.0f} op/s", r.achieved());
  if (r.offered() > 0) fmt::format_to(out, " of {:.0f} op/s offered", r.offered());
  if (r.failed()) fmt::format_to(out, ", and {:.0f} op/s that failed", r.failed_rate());
  if (seconds > 0)
    fmt::format_to(out, ", read {}/s, written {}/s", format_size(uint64_t(double(r.bytes_read) / seconds)),
                   format_size(uint64_t(double(r.bytes_written) / seconds)));
  if (r.open.count())
    fmt::format_to(out, "\nno reply   {} operations: {} due and never issued, {} in flight at the end, {} timed out or cut off",
                   format_count(r.open.count()), format_count(r.overdue), format_count(r.unfinished), format_count(r.unanswered));
  fmt::format_to(out, "\nduration   {}", format_duration(r.elapsed));
  for (const auto& section : report.sections) fmt::format_to(out, "{}", section->duration());
  fmt::format_to(out, "\nworking set {} objects by {} streams on {} worker{}\n", format_count(r.objects), format_count(r.streams),
                 r.workers, r.workers == 1 ? "" : "s");
  if (!r.limit_text.empty()) fmt::format_to(out, "limit      {}\n", r.limit_text);
  if (r.behind) fmt::format_to(out, "behind     {}\n", behind_text(r));
  if (r.silent)
    fmt::format_to(out, "silence    {} in which the target completed nothing, the longest {}\n", format_duration(r.silent),
                   format_duration(r.longest_silence));
  if (r.stood_still)
    fmt::format_to(out, "generator  {}; the longest {}\n", stood_still_text(r.stood_still), format_duration(r.longest_stand));
  if (steals(r.stolen, r.elapsed, kNotableSteal)) fmt::format_to(out, "generator  {}\n", stolen_text(r.stolen, r.elapsed));
}

// Prints groups of all outcomes that differed, because only the first ones have lines of their own.
void differences(Out out, const RunResult& r, const char* expected) {
  constexpr size_t kGroups = 10;
  fmt::format_to(out, "differed: {} more; all {}, grouped by kind:\n", format_count(r.mismatches_total - r.mismatches.size()),
                 format_count(r.mismatches_total));
  const std::vector<Difference> groups = r.differences.list();
  uint64_t left = r.mismatches_total;
  for (size_t i = 0; i < std::min(groups.size(), kGroups); ++i) {
    const Difference& d = groups[i];
    left -= d.count;
    fmt::format_to(out, "{:>11} {}: {} {}, got {}; first: operation {} '{}' at {}, last at {}\n", format_count(d.count),
                   op_name(d.kind), expected, d.expected, d.got, d.first_seq, escape_text(d.example), format_duration(d.first),
                   format_duration(d.last));
  }
  if (left) fmt::format_to(out, "{:>11} in other ways\n", format_count(left));
}

}  // namespace

std::string report_text(const Report& report) {
  const RunResult& r = report.result;
  std::string text;
  Out out(text);
  const std::string as = std::string("as ") + report.expected;
  text = report.input + " on " + report.target;
  for (const auto& section : report.sections) text += section->heading();
  const ImageSummary& image = report.image;
  fmt::format_to(
      out, "\nimage      {} directories, {} files, {} symlinks, {}; {} in {}\n", format_count(image.directories),
      format_count(image.files), format_count(image.symlinks), format_size(image.apparent),
      report.prepared.kept ? fmt::format("{} objects kept, the others created", format_count(report.prepared.kept)) : "made",
      format_duration(report.prepared.elapsed));
  for (const auto& section : report.sections) text += section->text();
  kinds_table(out, r, as);
  uint64_t compared = r.matched() + r.differed() + r.followed();
  fmt::format_to(out, "{:<16} {:>11} {:>11} {:>9}", "all", format_count(r.issued()), format_count(r.matched()),
                 format_count(r.differed()));
  if (compared) {
    // Round down, because 100 % must mean all.
    double share = double(uint64_t(double(r.matched()) / double(compared) * 1e5)) / 1e3;
    fmt::format_to(out, "   {:.3f} % {}", r.differed() || r.followed() ? std::min(share, 99.999) : 100.0, as);
  }
  fmt::format_to(out, "\n");
  times_table(out, r);
  fmt::format_to(out, "\n  {:<10} {:>11} {:>11} {:>11} {:>11} {:>11}\n", "", "p50", "p99", "p99.9", "max", "mean");
  for (const auto& times : figures::kTimesOfRun)
    if (times.in_text) histogram_line(out, times.name, r.*times.member, times.lower_bounds ? r.*times.lower_bounds : Histogram());
  load_lines(out, report);
  fmt::format_to(out, "order      {} waits kept, {} violations, {} overlapping pairs without an order\n", format_count(r.edges),
                 format_count(r.violations), format_count(r.free_pairs));
  if (const ContentCompared& c = r.content; c.blocks || c.unknown)
    fmt::format_to(out, "content    {} blocks read ({}) were compared, {} could not be compared\n", format_count(c.blocks),
                   format_size(c.bytes), format_count(c.unknown));
  if (r.changed_listings)
    fmt::format_to(out, "listings   {} differed by no more names than changed in the directory meanwhile\n",
                   format_count(r.changed_listings));
  if (r.auxiliary) fmt::format_to(out, "target     {} requests beside the operations\n", format_count(r.auxiliary));
  for (const auto& [name, value] : report.counters)
    if (value) fmt::format_to(out, "target     {} {}\n", format_count(value), name);
  if (r.cause)
    fmt::format_to(out,
                   "followed   {} outcomes differed as a consequence of operations that {}, the first of these: "
                   "operation {} {} '{}'\n",
                   format_count(r.followed()), r.after_differences ? "differed or were not issued" : "were not issued",
                   r.cause->seq, op_name(r.cause->kind), escape_text(r.cause->name));
  for (const Mismatch& m : report.prepared.failures)
    fmt::format_to(out, "initial image: {} '{}' failed: {}\n", op_name(m.kind), escape_text(m.name), m.got);
  for (const Mismatch& m : r.mismatches)
    fmt::format_to(out, "differed: operation {} {} '{}' object {}: {} {}, got {}\n", m.seq, op_name(m.kind), escape_text(m.name),
                   m.object, report.expected, m.expected, m.got);
  if (r.mismatches_total > r.mismatches.size()) differences(out, r, report.expected);
  Verdict v = verdict(report);
  for (const std::string& reason : v.reasons) fmt::format_to(out, "not clean: {}\n", reason);
  if (r.stopped)
    fmt::format_to(out, "ended early: {} {} {} were not issued\n",
                   format_count(r.cancelled + (report.whole > r.operations ? report.whole - r.operations : 0)), report.issued,
                   report.planned);
  const bool all = std::none_of(r.kinds.begin(), r.kinds.end(), [](const KindResult& k) { return k.impossible != 0; });
  if (v.reasons.empty() && r.stopped)
    fmt::format_to(out, "clean up to the early end: every outcome was {}\n", as);
  else if (v.reasons.empty())
    fmt::format_to(out, "clean: every operation {}was issued, every outcome was {}\n", all ? "" : "that the target can express ",
                   as);
  for (const std::string& missed : v.missed) fmt::format_to(out, "{}\n", missed);
  return text;
}

}  // namespace fsr
