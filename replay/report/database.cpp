// SPDX-License-Identifier: Apache-2.0
#include "engine/figures.hpp"
#include "report/facts.hpp"
#include "report/report.hpp"
#include "sql/results.hpp"

namespace fsr {

namespace {

class Rows {
 public:
  Rows(const Report& report, ResultsDatabase& db) : report_(report), db_(db) {}

  void totals() {
    const RunResult& r = report_.result;
    for (unsigned i = 0; i < kOpKinds; ++i) {
      const KindResult& k = r.kinds[i];
      if (!k.issued && !k.impossible && !k.refused) continue;
      add("kinds", {{"kind", std::string(op_name(OpKind(i)))}}, kind_facts(k));
    }
    each_histogram([this](const char* kind, const char* what, const Histogram& h) {
      add("distributions", {{"kind", std::string(kind)}, {"what", std::string(what)}}, distribution_facts(h));
    });
    for (const Mismatch& m : r.mismatches) db_.add("mismatches", mismatch_facts(m));
    for (const Difference& d : r.differences.list()) db_.add("differences", difference_facts(d));
    for (const SlowOperation& slow : r.slowest.list()) db_.add("slowest", slow_facts(slow));
    for (const auto& [name, value] : report_.counters) db_.add("counters", {{"name", name}, {"value", int64_t(value)}});
    for (const auto& section : report_.sections) section->database(db_);
  }

  void details() {
    each_histogram([this](const char* kind, const char* what, const Histogram& h) {
      h.each_bucket([&](int64_t low, int64_t high, uint64_t count) {
        db_.add("histograms", {{"kind", std::string(kind)},
                               {"what", std::string(what)},
                               {"low_ns", low},
                               {"high_ns", high},
                               {"count", int64_t(count)}});
      });
    });
    const int64_t length = report_.options.interval;
    for (size_t i = 0; i < report_.result.due.size(); ++i)
      db_.add(
          "offered",
          {{"from_ns", int64_t(i) * length}, {"to_ns", int64_t(i + 1) * length}, {"operations", int64_t(report_.result.due[i])}});
    for (const Facts& row : made_of_facts(report_.result.made_of)) db_.add("made_of", row);
    report_.series.heat().each([&](const Heat::Stretch& stretch, const char* what, unsigned bucket, uint64_t count) {
      db_.add("heat", {{"from_ns", stretch.from},
                       {"to_ns", stretch.to},
                       {"what", std::string(what)},
                       {"bucket", int64_t(bucket)},
                       {"count", int64_t(count)}});
    });
    for (const SeriesInterval& interval : report_.series.rows()) {
      db_.add("intervals", interval_facts(interval, "", interval.all));
      for (const auto& [kind, measured] : interval.kinds) db_.add("intervals", interval_facts(interval, op_name(kind), measured));
    }
  }

 private:
  void add(const char* table, Facts first, const Facts& rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    db_.add(table, first);
  }

  template <class Visit>
  void each_histogram(Visit visit) {
    const RunResult& r = report_.result;
    auto unless_empty = [&](const char* kind, const auto& owner, const auto& distributions) {
      for (const auto& times : distributions)
        if (const Histogram& h = owner.*times.member; h.count()) visit(kind, times.name, h);
    };
    unless_empty("", r, figures::kTimesOfRun);
    if (const Histogram recorded = recorded_times(r); recorded.count()) visit("", "recorded", recorded);
    for (unsigned i = 0; i < kOpKinds; ++i) unless_empty(op_name(OpKind(i)), r.kinds[i], figures::kTimesOfKind);
  }

  const Report& report_;
  ResultsDatabase& db_;
};

}  // namespace

void report_database(const Report& report, ResultsDatabase& db) {
  db.begin_run(run_facts(report));
  Rows rows(report, db);
  // The totals are committed first, so that they are kept even if there is no room for the details.
  rows.totals();
  db.commit();
  rows.details();
  db.commit();
}

}  // namespace fsr
