// SPDX-License-Identifier: Apache-2.0
#include "report/report.hpp"
#include "sql/results.hpp"

namespace fsr {

namespace {

void add_histogram(ResultsDatabase& db, const char* kind, const char* what, const Histogram& h) {
  h.each_bucket([&](int64_t low, int64_t high, uint64_t count) {
    db.add("histograms", {std::string(kind), std::string(what), low, high, int64_t(count)});
  });
}

}  // namespace

void report_database(const Report& report, ResultsDatabase& db) {
  const RunResult& r = report.result;
  auto run = [&](const char* key, SqlValue value) { db.add("run", {std::string(key), std::move(value)}); };
  run("program", std::string("fsreplay " FSR_VERSION));
  run("input", report.input);
  run("target", report.target);
  run("started_ns", report.started);
  run("timing", std::string(timing_name(report.options.timing)));
  run("order", std::string(order_name(report.options.order)));
  run("scale", report.options.scale);
  run("uid", report.acting_as);
  run("workers", int64_t(r.workers));
  run("elapsed_ns", r.elapsed);
  run("planned_ns", r.planned);
  run("recorded_ns", r.recorded);
  run("operations", int64_t(r.operations));
  run("issued", int64_t(r.issued()));
  run("matched", int64_t(r.matched()));
  run("differed", int64_t(r.differed()));
  run("failed", int64_t(r.failed()));
  run("unanswered", int64_t(r.unanswered));
  run("violations", int64_t(r.violations));
  run("streams", int64_t(r.streams));
  run("objects", int64_t(r.objects));
  run("offered_per_s", r.offered());
  run("achieved_per_s", r.achieved());
  run("failed_per_s", r.failed_rate());
  run("limit", r.limit_text);
  run("behind", int64_t(r.behind));
  run("behind_ns", r.behind_time);
  run("waited", int64_t(r.waited));
  run("waited_own_thread", int64_t(r.waited_own));
  run("silent_ns", r.silent);
  run("longest_silence_ns", r.longest_silence);
  run("exit_status", int64_t(verdict(report).status));
  for (unsigned i = 0; i < kOpKinds; ++i) {
    const KindResult& k = r.kinds[i];
    if (!k.issued && !k.impossible && !k.refused) continue;
    const char* name = op_name(OpKind(i));
    db.add("kinds", {std::string(name), int64_t(k.issued), int64_t(k.ok), int64_t(k.matched), int64_t(k.differed),
                     int64_t(k.permission), int64_t(k.uncompared), int64_t(k.failed), int64_t(k.awaited), int64_t(k.approximate),
                     int64_t(k.impossible), int64_t(k.refused), int64_t(k.bytes)});
    add_histogram(db, name, "service", k.service);
  }
  add_histogram(db, "", "lateness", r.lateness);
  add_histogram(db, "", "waiting", r.waiting);
  add_histogram(db, "", "service", r.service);
  add_histogram(db, "", "response", r.response);
  add_histogram(db, "", "failing", r.failing);
  for (const Progress& p : report.intervals)
    db.add("intervals", {p.elapsed, int64_t(p.done), int64_t(p.in_flight), int64_t(p.differed), int64_t(p.bytes), p.lateness});
  for (const Mismatch& m : r.mismatches)
    db.add("mismatches",
           {int64_t(m.seq), std::string(op_name(m.kind)), m.name, int64_t(m.object), int64_t(m.thread), m.expected, m.got});
  for (const auto& [name, value] : report.counters) db.add("counters", {name, int64_t(value)});
  for (const auto& section : report.sections) section->database(db);
  db.commit();
}

}  // namespace fsr
