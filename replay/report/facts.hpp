// SPDX-License-Identifier: Apache-2.0
// Lists what a run measured, each number under its one name. The columns of the results database, the keys of the JSON report and
// the headings of CSV files all come from here.
#pragma once

#include "report/time_series.hpp"
#include "sql/results.hpp"

namespace fsr {

struct Report;

Facts run_facts(const Report& report);  // includes the facts of the sections
Facts kind_facts(const KindResult& kind);
Facts distribution_facts(const Histogram& histogram);
Histogram recorded_times(const RunResult& result);  // durations in the capture of the operations that did not fail
// Adds `times` under the names `what`_p50_ns and so on.
void add_times(Facts& facts, const std::string& what, const Times& times);
Facts slow_facts(const SlowOperation& slow);
std::vector<Facts> made_of_facts(const MadeOf& made_of);
Facts mismatch_facts(const Mismatch& mismatch);
Facts difference_facts(const Difference& difference);
// `kind`: name of the kind; "": all kinds together.
Facts interval_facts(const SeriesInterval& interval, std::string_view kind, const Measured& measured);

}  // namespace fsr
