// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <list>
#include <map>

#include "page/parts.hpp"
#include "util/strips.hpp"
#include "util/units.hpp"

namespace fsr::page {

namespace {

constexpr size_t kMostKinds = 12;  // of operations, at once
constexpr double kKept = 0.99;     // share of the operations that were due; a run that completed them kept its pace

constexpr const char* kLimits =
    "limit: limited_by; operations issued more than 10 ms late: behind; of those, waited for other operations: waited; "
    "of those, for their own thread: waited_own_thread; time in which more than a tenth was late: behind_ns; "
    "time in which the target was unresponsive: silent_ns; time in which the load generator stood still: stood_still_ns; "
    "dependencies obeyed: edges; dependencies violated: violations; times that the look-ahead was full: window_full; "
    "workers: workers; streams: streams; objects touched: objects";

std::string capitalized(std::string text) {
  if (!text.empty()) text[0] = char(toupper(uint8_t(text[0])));
  return text;
}

class RunPart {
 public:
  RunPart(HtmlPage& page, const std::vector<ShownRun>& runs) : page_(page), runs_(runs) {}

  void write() {
    summary();
    over_time();
    distributions();
    kinds();
    if (!running_ && replayed_) {
      slowest();
      mismatches();
      limits();
    } else if (!running_) {
      parts();
    }
    write_environment(page_, runs_);
  }

 private:
  void summary() {
    const std::string label = run_.text("label");
    page_.note(fmt::format("{} on {}, started {} UTC{}{}", run_.text("input"), run_.text("target"), run_.text("started"),
                           label.empty() ? "" : ": ", label));
    std::vector<std::string> sentences;
    differed(sentences);
    limit(sentences);
    const auto [mark, word, verb, reason] = of_.ending();
    page_.verdict(mark,
                  reason.empty() ? (running_ ? "Still running; figures are those so far."
                                             : "Clean: every operation was issued and had the expected outcome.")
                  : running_     ? "Still running. Not clean so far: " + reason + "."
                                 : capitalized(word) + ": " + reason + ".",
                  sentences,
                  of_.is_clean() || running_ || !replayed_ ? HtmlPage::Link{}
                  : run_.number("differed") > 0            ? HtmlPage::Link{"mismatches", "What differed"}
                  : of_.was_delayed()                      ? HtmlPage::Link{"limits", "What delayed the run"}
                                                           : HtmlPage::Link{});
    count_tiles();
    lag_tiles();
    time_tiles();
    page_.tiles(tiles_);
  }
  void tile(std::string name, Cell value, std::string small = "") {
    tiles_.emplace_back(std::move(name), below(std::move(value), std::move(small)));
  }
  void count_tiles() {
    const double offered = run_.real("offered_per_s"), recorded = run_.number("clones") <= 1 ? run_.real("recorded_per_s") : 0;
    tile("achieved, op/s", rate(run_.real("achieved_per_s")),
         offered > 0    ? rate(offered).text + " were due"
         : recorded > 0 ? rate(recorded).text + " recorded"
                        : "");
    const int64_t issued = run_.number("issued"), all = run_.number("operations");
    tile("operations", count(issued), all > issued ? "of " + count(all).text : "");
    if (replayed_) tile("differed", shown(run_, "differed"));
    tile("failed", shown(run_, "failed"));
  }

  // Adds the lag behind a capture that goes on.
  void lag_tiles() {
    const ResultRow* lag = of_.of("", "lag");
    if (!lag) return;
    std::map<std::string, int64_t> counters;
    for (const ResultRow& row : of_.rows("counters")) counters[row.text("name")] = row.number("value");
    tile(running_ ? "lag now" : "lag, p99", duration(running_ ? counters["lag_now_ns"] : lag->number("p99_ns")),
         shown(*lag, "max_ns").text + " at most" + (counters["lag_from_arrival"] ? ", from arrival" : ""));
    tile("left out while behind", count(counters["left_out_while_behind"]));
    tile("files that differ now", count(counters["diverged_objects"]),
         count(counters["differed_as_consequence"]).text + " consequences");
    tile("preparations failed", count(counters["preparations_failed"]));
  }

  // Adds service times, each beside that of the same operations in the capture, and response times.
  void time_tiles() {
    if (const ResultRow* open = of_.of("", "open")) tile("without a reply", shown(*open, "count"));
    const int64_t planned = run_.number("planned_ns");
    tile("time", shown(run_, "elapsed_ns"), planned ? format_duration(planned) + " were planned" : "");
    if (const ResultRow* service = of_.of("", "service"))
      for (const Quantile& q : {kP50, kP99, kMax})
        tiles_.emplace_back(std::string("service, ") + q.name,
                            beside_recorded(*service, of_.of("", "recorded"), q.column, " recorded"));
    if (!replayed_) tile("response, p50", of_.time("response", kP50));
    tile("response, p99", of_.time("response", kP99));
    tile("data read", size_cell(uint64_t(run_.number("bytes_read"))),
         format_size(uint64_t(run_.number("bytes_written"))) + " written");
  }

  std::string differed_text() const {
    const auto differed = uint64_t(run_.number("differed"));
    return format_count(differed) + " of " + format_count(differed + uint64_t(run_.number("matched")));
  }

  // Says how many outcomes differed, and since when.
  void differed(std::vector<std::string>& sentences) {
    int64_t first = INT64_MAX;
    for (const ResultRow& row : of_.rows("differences")) first = std::min(first, row.number("first_ns"));
    if (run_.number("differed") && first < INT64_MAX)
      sentences.push_back(
          fmt::format("Outcomes that differed: {}, the first one issued after {}.", differed_text(), format_duration(first)));
  }

  // A run that kept its pace had no limit. Its sentence says how well the pace was kept.
  void limit(std::vector<std::string>& sentences) {
    const std::string text = run_.text("limited_by");
    if (text.empty()) return;
    const double offered = run_.real("offered_per_s"), done = run_.real("achieved_per_s") + run_.real("failed_per_s");
    const bool kept = offered > 0 && done >= kKept * offered;
    sentences.push_back((kept ? capitalized(text) : "Limit: " + text) + ".");
  }

  void over_time() {
    Rows intervals = of_.rows("intervals");
    std::erase_if(intervals, [](const ResultRow& row) { return !row.text("kind").empty(); });
    if (intervals.empty()) return;
    page_.section(
        "time", "Over time",
        "A gap is a stretch in which nothing completed, or on a logarithmic axis a zero. Response runs from the time that an "
        "operation was due.");
    write_over_time(page_, intervals, replayed_ ? 0 : run_.real("asked_per_s"));
    write_heat_maps(page_, of_.rows("heat"), intervals);
  }

  void distributions() {
    page_.section("distributions", "Where the time went");
    if (replayed_)
      page_.paragraph(
          "Lateness is fsreplay's own delay. Waiting is the time until all dependencies of an operation were complete.");
    page_.paragraph(
        "Service is the time from issue to completion. Response is the time from due to completion, or so far if no reply came "
        "(\"> \": at least that long).");
    HtmlPage::Table t{.caption = "Distributions", .headings = {"", "operations"}, .id = "distribution-table"};
    for (const Quantile& q : kQuantiles) t.headings.emplace_back(q.name);
    t.headings.emplace_back("mean");
    std::vector<NamedHistogram> lines;
    std::list<Histogram> histograms;
    for (const char* what : {"lateness", "waiting", "service", "response"}) {
      const ResultRow* row = of_.of("", what);
      if (!row) continue;
      std::vector<Cell>& cells = t.rows.emplace_back(std::vector<Cell>{what, shown(*row, "count")});
      for (const Quantile& q : kQuantiles) cells.push_back(of_.time(what, q));
      cells.push_back(of_.mean(what));
      lines.push_back({what, &histograms.emplace_back(of_.histogram("", what))});
    }
    page_.table(t);
    if (!write_made_of(page_, of_.rows("made_of")) && !lines.empty())
      page_.chart(share_up_to("Share up to a time", "time", lines, log_time_text));
  }

  void kinds() {
    const bool recorded = of_.of("", "recorded");
    page_.section(
        "kinds", "By kind of operation",
        std::string("Service on a logarithmic scale, with marks at p50 and p99. Sorted by the time that the target took.") +
            (recorded ? " Above, grey: in the capture; below, blue: replayed. In small letters: the capture, and the ratio."
                      : ""));
    double low = HUGE_VAL, high = 0;
    for (const ResultRow& row : of_.distributions)
      if (!row.text("kind").empty() && row.number("count") > 0)
        low = std::min(low, row.real("min_ns")), high = std::max(high, row.real("max_ns"));
    const StripScale scale = StripScale::of_times(low, high);
    const char* outcome = replayed_ ? "differed" : "failed";
    HtmlPage::Table t{.caption = recorded ? "Recorded beside replayed" : "Operations by kind",
                      .headings = {"kind", "", "issued", outcome, "p50", "p99", "max"},
                      .id = "kind-table",
                      .pictures = 1,
                      .scale = scale.axis("", ""),
                      .most = kMostKinds};
    Rows rows = of_.rows("kinds");
    auto time = [&](const ResultRow& kind) { return of_.time_of(kind.text("kind"), "service"); };
    std::stable_sort(rows.begin(), rows.end(), [&](const ResultRow& a, const ResultRow& b) { return time(a) > time(b); });
    for (const ResultRow& row : rows) {
      const std::string kind = row.text("kind");
      const ResultRow *is = of_.of(kind, "service"), *was = of_.of(kind, "recorded");
      const Histogram service = of_.histogram(kind, "service"), before = of_.histogram(kind, "recorded");
      t.rows.push_back({kind, Cell::drawn(scale.distribution(service, before)), shown(row, "issued"), shown(row, outcome)});
      for (const Quantile& q : {kP50, kP99, kMax}) t.rows.back().push_back(is ? beside_recorded(*is, was, q.column, "") : "");
    }
    page_.table(t);
  }

  // Writes the parts of a workload that the files of a program name.
  void parts() {
    Rows rows = of_.rows("parts");
    std::erase_if(rows, [](const ResultRow& row) { return row.number("average") == 0; });
    page_.section("parts", "By part of the workload");
    HtmlPage::Table t =
        filled({.caption = "Averages; a response begins when its operation is due", .id = "part-table"}, rows,
               ": name; operations: operations; requested %: asked_percent; p50: response_p50_ns; p99: response_p99_ns; "
               "p99.9: response_p999_ns; p99.99: response_p9999_ns; max: response_max_ns");
    for (size_t i = 0; i < rows.size(); ++i) t.rows[i][0].text.insert(0, rows[i].text("part") + "=");
    page_.table(t);
  }

  void slowest() {
    page_.section("slowest", "The slowest operations");
    page_.table(filled({.caption = "By service time", .words = {4, 5}, .id = "slowest-table"}, of_.rows("slowest"),
                       "operation: seq; service: service_ns; recorded: recorded_ns; at: issued_ns; kind: kind; file: name"));
  }

  void mismatches() {
    page_.section("mismatches", "Outcomes that differed");
    page_.paragraph(differed_text() + " outcomes differed.");
    write_differences(page_, runs_);
    page_.table(filled({.caption = "The first ones", .text_columns = true, .folded = "The first ones", .id = "mismatch-table"},
                       of_.rows("mismatches"),
                       "operation: seq; kind: kind; at: issued_ns; name: name; expected: expected; got: got"));
  }

  void limits() {
    page_.section("limits", "What delayed the run");
    HtmlPage::Values facts;
    for (const auto& [what, column] : columns_of(kLimits)) facts.emplace_back(what, shown(run_, column));
    for (const ResultRow& counter : of_.rows("counters"))
      if (counter.number("value")) facts.emplace_back(counter.text("name"), shown(counter, "value"));
    page_.facts("limit-table", facts, true);
  }

  HtmlPage& page_;
  const std::vector<ShownRun>& runs_;  // one
  const ShownRun& of_ = runs_.front();
  const ResultRow& run_ = of_.row;
  const bool running_ = of_.chosen.running;
  HtmlPage::Values tiles_;
  const bool replayed_ = !run_.text("ordering").empty();  // true: a replay; false: a run of a program
};

}  // namespace

void write_run(HtmlPage& page, const std::vector<ShownRun>& runs) { RunPart(page, runs).write(); }

}  // namespace fsr::page
