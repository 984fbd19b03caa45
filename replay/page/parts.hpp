// SPDX-License-Identifier: Apache-2.0
// Parts of pages about runs, each from rows of tables of a results database, which may be empty. Cells have the exact number that
// the results hold. No state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "page/results_page.hpp"
#include "sql/results_reader.hpp"
#include "util/histogram.hpp"
#include "util/html_page.hpp"

namespace fsr::page {

using Cell = HtmlPage::Cell;

inline Cell count(int64_t n) { return count_cell(uint64_t(std::max<int64_t>(0, n))); }  // a damaged database may have less
inline Cell duration(int64_t ns) { return duration_cell(ns); }
inline Cell rate(double per_second) { return rate_cell(per_second); }
std::string ratio_text(double is, double was);  // empty if `was` is 0

using Rows = std::vector<ResultRow>;

// Returns what a column of the results holds. The end of its name has the unit: "_ns", "_percent"; other numbers are counts.
// The name of a file that has none is the number of its object. A time of 0 in the capture is not known, and so empty.
Cell shown(const ResultRow& row, const std::string& name);
// Headings, and the columns of the results below them, or beside them in a list.
using Columns = std::vector<std::pair<std::string, std::string>>;
// Reads a text such as "HEADING: COLUMN; HEADING: COLUMN".
Columns columns_of(std::string_view text);
// Returns `form` with the headings and the rows of `columns`.
HtmlPage::Table filled(HtmlPage::Table form, const Rows& rows, std::string_view columns);
Cell below(Cell cell, std::string text);
// Returns a service time, and below it that of the same operations in the capture, which may be null.
Cell beside_recorded(const ResultRow& service, const ResultRow* recorded, const char* column, const char* word);

struct Quantile {
  const char *name, *column;
  double share;
};
inline constexpr Quantile kP50{"p50", "p50_ns", 0.5}, kP99{"p99", "p99_ns", 0.99}, kP999{"p99.9", "p999_ns", 0.999},
    kMax{"max", "max_ns", 1};
inline constexpr Quantile kQuantiles[] = {kP50, {"p90", "p90_ns", 0.9}, kP99, kP999, {"p99.99", "p9999_ns", 0.9999}, kMax};

// One run, with what pages need of it.
class ShownRun {
 public:
  explicit ShownRun(const ChosenRun& of);
  Rows rows(std::string_view table) const { return chosen.file->rows(table, id); }
  Histogram histogram(std::string_view kind, std::string_view what) const { return chosen.file->histogram(id, kind, what); }
  // Returns the distribution `what` of one kind of operation, or of all (""). Null: there is none.
  const ResultRow* of(std::string_view kind, std::string_view what) const;
  // Return cells of the times `what` of all operations, empty if there are none. The response of an operation without an answer
  // has a lower bound, which is marked.
  Cell time(std::string_view what, const Quantile& q) const;
  Cell mean(std::string_view what) const;
  bool is_bound(std::string_view what, double share) const;
  // Returns the time that the target took for a kind, ns. `what`: "service", or "recorded" for the time in the capture.
  double time_of(std::string_view kind, std::string_view what) const;
  bool is_clean() const { return row.text("not_clean").empty(); }
  bool misses_requirement() const { return !chosen.running && !row.text("requirements_missed").empty(); }
  // False: the run has ended, and operations were not issued.
  bool is_whole() const { return chosen.running || row.number("issued") >= row.number("operations"); }
  // How the run ended, or stands so far.
  struct Ending {
    HtmlPage::Mark mark;
    const char *word, *verb;  // such as "not clean" and "were not clean"
    std::string reason;       // empty: it is clean so far
  };
  Ending ending() const;
  bool was_delayed() const;  // true: what delayed the run is a reason

  const ChosenRun& chosen;
  const ResultRow& row;
  const int64_t id;
  const Rows distributions;

 private:
  const Histogram responses_, open_;
};

// Runs of one input on one target at one load: the same but for chance.
struct Case {
  std::string name;
  std::vector<const ShownRun*> runs;
};
// Returns the load of a run: "4x", "asap", "1000 calls/s".
std::string load_text(const ResultRow& run);
// Returns the label of a run, or else its target, with its load.
std::string label_text(const ResultRow& run);
// Returns the cases in the order of their first runs, each with a name of its own. They point to `runs`.
std::vector<Case> cases_of(const std::vector<ShownRun>& runs);

// Writes all about the only one of `runs`.
void write_run(HtmlPage& page, const std::vector<ShownRun>& runs);
// Writes what several runs have in common once, and what differs in tables. A page has room for many runs.
void write_runs(HtmlPage& page, const std::vector<ShownRun>& runs);

// Draws response over load, and the service times of each case beside each other.
void write_load_curve(HtmlPage& page, const std::vector<ShownRun>& runs);
void write_distributions(HtmlPage& page, const std::vector<Case>& cases);

// Writes a table of the outcomes that differed, by kind and outcome, if there are any.
void write_differences(HtmlPage& page, const std::vector<ShownRun>& runs);
// Writes what is the same in all runs as a list, and the rest as a table.
void write_environment(HtmlPage& page, const std::vector<ShownRun>& runs);

// `asked`: the load that was asked for if no row says what was due; 0: not known. An interval in which nothing completed is a
// gap. A long run has several of them in one.
void write_over_time(HtmlPage& page, const Rows& intervals, double asked);
// Writes which times operations took over the time of the run, and a folded table of the counts. `intervals`: not
// empty. The maps have their time axis, as the drawings above them.
void write_heat_maps(HtmlPage& page, const Rows& heat, const Rows& intervals);
// Writes how many operations had each response time, and the shares of its parts. False: there are no rows.
bool write_made_of(HtmlPage& page, const Rows& made_of);

}  // namespace fsr::page
