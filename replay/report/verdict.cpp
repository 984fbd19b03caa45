// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/lost_locks.hpp"
#include "base/withheld.hpp"
#include "measure/stood_still.hpp"
#include "report/report.hpp"
#include "util/units.hpp"

namespace fsr {

const char* timing_name(Timing timing) {
  switch (timing) {
    case Timing::original:
      return "original";
    case Timing::think:
      return "think";
    case Timing::asap:
      return "asap";
  }
  return "?";
}

const char* order_name(Order order) {
  switch (order) {
    case Order::resource:
      return "resource";
    case Order::time:
      return "time";
    case Order::strict:
      return "strict";
  }
  return "?";
}

constexpr double kMissed = 0.01;  // share of a schedule that may be missed

// Returns the number of operations that were left out, and the names of the first ones.
static std::string left_out_text(const KnockOnTracker::LeftOut& left_out) {
  std::string text = format_count(left_out.count) + " operations that change the tree were not issued, so the trees will differ:";
  for (const KnockOnTracker::Cause& cause : left_out.first)
    text += fmt::format("{} {} {} '{}'", &cause == &left_out.first.front() ? " operation" : ",", cause.seq, op_name(cause.kind),
                        escape_text(cause.name));
  return text + (left_out.count > left_out.first.size() ? ", …" : "");
}

static std::string outdated_text(const std::vector<std::string>& names) {
  std::string text = format_count(names.size()) + " hard links are copies that lack a later change, so the trees will differ:";
  for (size_t i = 0; i < std::min(names.size(), KnockOnTracker::LeftOut::kNamed); ++i)
    text += fmt::format("{} '{}'", i ? "," : "", escape_text(names[i]));
  return text + (names.size() > KnockOnTracker::LeftOut::kNamed ? ", …" : "");
}

Verdict verdict(const Report& report) {
  const RunResult& r = report.result;
  uint64_t impossible = 0, allowed = 0, refused = 0;  // operations that were not issued, by reason
  for (size_t i = 0; i < kOpKinds; ++i) {
    (report.allowed[i] ? allowed : impossible) += r.kinds[i].impossible;
    refused += r.kinds[i].refused;
  }
  std::vector<std::string> withheld;  // of `refused`, those of users without credentials
  uint64_t unsafe = refused;
  for (const auto& [name, count] : report.counters) {
    if (!count || !name.starts_with(kWithheld)) continue;
    unsafe -= std::min(unsafe, count);
    withheld.push_back(format_count(count) + " " + name);
  }
  Verdict v;
  auto when = [&](uint64_t n, const char* what) {
    if (n) v.reasons.push_back(format_count(n) + " " + what);
  };
  for (const auto& section : report.sections)
    for (std::string& reason : section->reasons()) v.reasons.push_back(std::move(reason));
  when(report.prepared.failed, "operations of the initial image failed");
  when(report.image.refused_names, "names of the initial image were refused");
  when(report.image.refused_special, "device nodes of the initial image were refused (--privileged allows device nodes)");
  when(report.image.stripped_bits,
       "files of the initial image were created without set-id bits (--privileged keeps set-id bits)");
  when(report.image.refused_xattrs, "extended attributes of the initial image were refused (--privileged allows trusted ones)");
  when(r.differed(), "outcomes differed");
  when(r.after_differences, "outcomes differed as a consequence of earlier differences");
  if (r.unanswered)
    v.reasons.push_back(format_count(r.unanswered) + " operations had no reply" +
                        (r.silent ? fmt::format("; the target was unresponsive for {}", format_duration(r.silent)) : ""));
  when(unsafe, "operations were refused as unsafe");
  for (std::string& reason : withheld) v.reasons.push_back(std::move(reason));
  when(r.violations, "dependency violations");
  when(r.unfinished, "operations were in flight at the end");
  if (const double due = double(r.due_in_all()); due > 0 && double(r.overdue) > due * kMissed)
    v.reasons.push_back(fmt::format("{} of {} operations that were due were never issued", format_count(r.overdue),
                                    format_count(r.due_in_all())));
  if (double(r.stood_still) > double(r.elapsed) * kMostStoodStill) v.reasons.push_back(stood_still_text(r.stood_still));
  if (steals(r.stolen, r.elapsed, kMostStolen)) v.reasons.push_back(stolen_text(r.stolen, r.elapsed));
  for (const auto& [name, count] : report.counters)
    if (count && (name == kLocksLost || name == kOpensLost || name == kFilesWithoutLocks))
      v.reasons.push_back(name + ": " + format_count(count));
  if (r.stopped_on_error)
    v.reasons.push_back(r.stopped_on_difference ? "run ended at the first outcome that differed (--on-error stop)"
                                                : "run ended at the first operation that failed (--on-error stop)");
  if (report.interrupted) v.reasons.push_back("run interrupted before the end");
  if (!report.aftermath.empty()) v.reasons.push_back(report.aftermath);
  v.status = v.reasons.empty() ? 0 : 1;
  when(impossible, "operations that the target can't express were not issued");
  if (!allowed || impossible || refused) {
    when(r.followed() - r.after_differences, "outcomes differed as a consequence of operations that were not issued");
    if (r.left_out.count) v.reasons.push_back(left_out_text(r.left_out));
  }
  const bool copies = !report.outdated_copies.empty() && !report.allowed[size_t(OpKind::link)];
  if (copies) v.reasons.push_back(outdated_text(report.outdated_copies));
  if (v.status == 0 && !v.reasons.empty()) v.status = refused || !(impossible || copies) ? 1 : kInexpressible;
  if (r.elapsed == 0) return v;  // it did not run
  for (const Requirement& requirement : report.requirements) {
    const std::string is = requirement.missed(r);
    if (is.empty()) continue;
    v.missed.push_back(fmt::format("required {}: {}", requirement.text(), is));
    v.status = kRequirementMissed;
  }
  return v;
}

int worse_status(int a, int b) {
  auto weight = [](int status) { return status == kInexpressible ? 0.5 : status; };
  return weight(a) < weight(b) ? b : a;
}

}  // namespace fsr
