// SPDX-License-Identifier: Apache-2.0
#include "page/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <list>
#include <map>

#include "page/result_cells.hpp"
#include "util/histogram_chart.hpp"
#include "util/strips.hpp"
#include "util/units.hpp"

namespace fsr::page {

namespace {

constexpr size_t kMostKinds = 12;  // of operations, at once
constexpr double kKept = 0.99;     // share of the operations that were due; a run that completed them kept its pace

class RunPart {
 public:
  RunPart(HtmlPage& page, const ChosenRun& chosen)
      : page_(page),
        file_(*chosen.file),
        run_(chosen.run),
        running_(chosen.running),
        id_(run_.number("id")),
        replayed_(!run_.text("ordering").empty()),
        distributions_(file_.rows("distributions", id_)),
        responses_(file_, id_) {}

  void write() {
    summary();
    over_time();
    distributions();
    kinds();
    if (running_) return environment();
    if (replayed_) {
      slowest();
      mismatches();
      limits();
    } else {
      parts();
    }
    environment();
  }

 private:
  void summary() {
    page_.note(fmt::format("{} on {}, started {} UTC{}", run_.text("input"), run_.text("target"), run_.text("started"),
                           run_.text("label").empty() ? "" : ": " + run_.text("label")));
    const std::string reasons = run_.text("not_clean");
    std::vector<std::string> sentences;
    differed(sentences);
    limit(sentences);
    if (running_ && !reasons.empty())
      page_.verdict(HtmlPage::Mark::bad, "Still running. Not clean so far: " + one_line(reasons) + ".", sentences);
    else if (running_)
      page_.verdict(HtmlPage::Mark::open, "Still running; figures are those so far.", sentences);
    else if (reasons.empty())
      page_.verdict(HtmlPage::Mark::good, "Clean: every operation was issued and had the expected outcome.", sentences);
    else
      page_.verdict(HtmlPage::Mark::bad, "Not clean: " + one_line(reasons) + ".", sentences);
    const ResultRow* response = distribution(distributions_, "", "response");
    const double offered = run_.real("offered_per_s");
    std::vector<std::pair<std::string, Cell>> tiles = {
        {"achieved, op/s",
         below(rate(run_.real("achieved_per_s")), offered > 0 ? rate(offered).text + " were due"
                                                  : run_.real("recorded_per_s") > 0 && run_.number("clones") <= 1
                                                      ? rate(run_.real("recorded_per_s")).text + " recorded"
                                                      : "")},
        {"operations",
         below(count(run_.number("issued")),
               run_.number("operations") > run_.number("issued") ? "of " + count(run_.number("operations")).text : "")}};
    if (replayed_) tiles.push_back({"differed", count(run_.number("differed"))});
    tiles.push_back({"failed", count(run_.number("failed"))});
    lag_tiles(tiles);
    if (const ResultRow* open = distribution(distributions_, "", "open"))
      tiles.push_back({"without a reply", count(open->number("count"))});
    tiles.push_back({"time", below(duration(run_.number("elapsed_ns")),
                                   run_.number("planned_ns") ? duration(run_.number("planned_ns")).text + " were planned" : "")});
    service_tiles(tiles);
    if (response)
      for (const Quantile& q : kQuantiles)
        if (q.share == 0.99 || (!replayed_ && q.share == 0.5))
          tiles.push_back({std::string("response, ") + q.name, responses_.cell(q.share, response->number(q.column))});
    tiles.push_back({"data read",
                     {format_size(uint64_t(run_.number("bytes_read"))), std::to_string(run_.number("bytes_read")),
                      format_size(uint64_t(run_.number("bytes_written"))) + " written"}});
    page_.tiles(tiles);
  }

  static Cell below(Cell cell, std::string text) {
    cell.below = std::move(text);
    return cell;
  }

  // Adds the lag behind a capture that goes on.
  void lag_tiles(std::vector<std::pair<std::string, Cell>>& tiles) {
    const ResultRow* lag = distribution(distributions_, "", "lag");
    if (!lag) return;
    std::map<std::string, int64_t> counters;
    for (const ResultRow& row : file_.rows("counters", id_)) counters[row.text("name")] = row.number("value");
    tiles.push_back({running_ ? "lag now" : "lag, p99", below(duration(running_ ? counters["lag_now_ns"] : lag->number("p99_ns")),
                                                              duration(lag->number("max_ns")).text + " at most" +
                                                                  (counters["lag_from_arrival"] ? ", from arrival" : ""))});
    tiles.push_back({"left out while behind", count(counters["left_out_while_behind"])});
    tiles.push_back({"files that differ now", below(count(counters["diverged_objects"]),
                                                    count(counters["differed_as_consequence"]).text + " consequences")});
    tiles.push_back({"preparations failed", count(counters["preparations_failed"])});
  }

  // Adds service times, each beside that of the same operations in the capture.
  void service_tiles(std::vector<std::pair<std::string, Cell>>& tiles) {
    const ResultRow* service = distribution(distributions_, "", "service");
    if (!service) return;
    const ResultRow* recorded = distribution(distributions_, "", "recorded");
    for (const Quantile& q : kQuantiles)
      if (q.share == 0.5 || q.share == 0.99 || q.share == 1)
        tiles.push_back({std::string("service, ") + q.name, beside_recorded(*service, recorded, q.column, " recorded")});
  }
  static Cell beside_recorded(const ResultRow& service, const ResultRow* recorded, const char* column, const char* word) {
    const int64_t is = service.number(column), was = recorded ? recorded->number(column) : 0;
    return below(duration(is), was > 0 ? format_duration(was) + word + ", ×" + ratio(is, was).text : "");
  }

  // Says how many outcomes differed, and since when.
  void differed(std::vector<std::string>& sentences) {
    const int64_t differed = run_.number("differed"), whole = differed + run_.number("matched");
    const std::vector<ResultRow> groups = file_.rows("differences", id_);
    if (!differed || groups.empty()) return;
    int64_t first = INT64_MAX;
    for (const ResultRow& row : groups) first = std::min(first, row.number("first_ns"));
    sentences.push_back(fmt::format("Outcomes that differed: {} of {}, the first one issued after {}.",
                                    format_count(uint64_t(differed)), format_count(uint64_t(whole)), format_duration(first)));
  }

  // A run that kept its pace had no limit. Its sentence says how well the pace was kept.
  void limit(std::vector<std::string>& sentences) {
    std::string text = run_.text("limited_by");
    if (text.empty()) return;
    if (kept_pace())
      text[0] = char(toupper(text[0]));
    else
      text.insert(0, "Limit: ");
    sentences.push_back(text + ".");
  }
  bool kept_pace() const {
    const double offered = run_.real("offered_per_s");
    return offered > 0 && run_.real("achieved_per_s") + run_.real("failed_per_s") >= kKept * offered;
  }

  static std::string one_line(std::string text) {
    for (size_t at; (at = text.find('\n')) != text.npos;) text.replace(at, 1, "; ");
    return text;
  }

  void over_time() {
    std::vector<ResultRow> intervals = file_.rows("intervals", id_);
    std::erase_if(intervals, [](const ResultRow& row) { return !row.text("kind").empty(); });
    if (intervals.empty()) return;
    page_.section("time", "Over time");
    page_.note(
        "A gap is a stretch in which nothing completed, or on a logarithmic axis a zero. Response runs from the time that an "
        "operation was due.");
    write_over_time(page_, intervals, replayed_ ? 0 : run_.real("asked_per_s"));
    write_heat_maps(page_, file_.rows("heat", id_), intervals.back().real("to_ns") / 1e9);
  }

  void distributions() {
    page_.section("distributions", "Where the time went");
    if (replayed_)
      page_.paragraph(
          "Lateness is fsreplay's own delay. Waiting is the time until all dependencies of an operation were complete.");
    page_.paragraph(
        "Service is the time from issue to completion. Response is the time from due to completion, or so far if no reply came "
        "(\"> \": at least that long).");
    HtmlPage::Table t{.caption = "Distributions",
                      .headings = {"", "operations", "p50", "p90", "p99", "p99.9", "p99.99", "max", "mean"},
                      .id = "distribution-table"};
    std::vector<NamedHistogram> lines;
    std::list<Histogram> histograms;
    for (const char* what : {"lateness", "waiting", "service", "response"}) {
      const ResultRow* row = distribution(distributions_, "", what);
      if (!row) continue;
      std::vector<Cell> cells = {what, count(row->number("count"))};
      const bool bounds = what == std::string_view("response");
      for (const Quantile& q : kQuantiles)
        cells.push_back(bounds ? responses_.cell(q.share, row->number(q.column)) : duration(row->number(q.column)));
      cells.push_back(bounds ? responses_.mean(row->real("mean_ns")) : duration(int64_t(row->real("mean_ns"))));
      t.rows.push_back(std::move(cells));
      lines.push_back({what, &histograms.emplace_back(file_.histogram(id_, "", what))});
    }
    page_.table(t);
    if (!write_made_of(page_, file_.rows("made_of", id_)) && !lines.empty())
      page_.chart(share_up_to("Share up to a time", "time", lines, duration_text));
  }

  void kinds() {
    page_.section("kinds", "By kind of operation");
    const bool recorded = distribution(distributions_, "", "recorded");
    page_.note(
        std::string("Service on a logarithmic scale, with marks at p50 and p99. Sorted by the time that the target took.") +
        (recorded ? " Above, grey: in the capture; below, blue: replayed. In small letters: the capture, and the ratio." : ""));
    double low = 1e18, high = 0;
    for (const ResultRow& row : distributions_)
      if (!row.text("kind").empty() && row.number("count") > 0)
        low = std::min(low, row.real("min_ns")), high = std::max(high, row.real("max_ns"));
    const StripScale scale = StripScale::of_times(low, high);
    HtmlPage::Table t{.caption = recorded ? "Recorded beside replayed" : "Operations by kind",
                      .headings = {"kind", "", "issued", replayed_ ? "differed" : "failed", "p50", "p99", "max"},
                      .id = "kind-table",
                      .pictures = 1,
                      .scale = scale.axis("", ""),
                      .most = kMostKinds};
    std::vector<ResultRow> rows = file_.rows("kinds", id_);
    std::stable_sort(rows.begin(), rows.end(), [&](const ResultRow& a, const ResultRow& b) { return time_of(a) > time_of(b); });
    for (const ResultRow& kind : rows) {
      const std::string name = kind.text("kind");
      const ResultRow *is = distribution(distributions_, name, "service"), *was = distribution(distributions_, name, "recorded");
      const Histogram service = file_.histogram(id_, name, "service"), before = file_.histogram(id_, name, "recorded");
      t.rows.push_back({name, Cell::drawn(scale.distribution(was ? &before : nullptr, &service)), count(kind.number("issued")),
                        count(kind.number(replayed_ ? "differed" : "failed"))});
      for (const char* column : {"p50_ns", "p99_ns", "max_ns"})
        t.rows.back().push_back(is ? beside_recorded(*is, was, column, "") : Cell(""));
    }
    page_.table(t);
  }
  // Returns the time that the target took for a kind, ns.
  double time_of(const ResultRow& kind) const {
    const ResultRow* service = distribution(distributions_, kind.text("kind"), "service");
    return service ? service->real("mean_ns") * service->real("count") : 0;
  }

  // Writes the parts of a workload that the files of a program name.
  void parts() {
    HtmlPage::Table t{.caption = "Averages; a response begins when its operation is due",
                      .headings = {"", "operations", "requested %", "p50", "p99", "p99.9", "p99.99", "max"},
                      .id = "part-table"};
    for (const ResultRow& row : file_.rows("parts", id_)) {
      if (row.number("average") == 0) continue;
      std::vector<Cell> cells = {escape_text(row.text("part") + "=" + row.text("name")), count(row.number("operations")),
                                 fmt::format("{:.2f}", row.real("asked_percent"))};
      for (const char* column : {"p50", "p99", "p999", "p9999", "max"})
        cells.push_back(duration(row.number(fmt::format("response_{}_ns", column))));
      t.rows.push_back(std::move(cells));
    }
    if (t.rows.empty()) return;
    page_.section("parts", "By part of the workload");
    page_.table(t);
  }

  void slowest() {
    const std::vector<ResultRow> rows = file_.rows("slowest", id_);
    if (rows.empty()) return;
    page_.section("slowest", "The slowest operations");
    HtmlPage::Table t{.caption = "By service time",
                      .headings = {"operation", "service", "recorded", "at", "kind", "file"},
                      .words = {4, 5},
                      .id = "slowest-table"};
    for (const ResultRow& row : rows) {
      const std::string name = row.text("name");
      t.rows.push_back({count(row.number("seq")), duration(row.number("service_ns")),
                        row.number("recorded_ns") ? duration(row.number("recorded_ns")) : Cell(""),
                        duration(row.number("issued_ns")), row.text("kind"),
                        name.empty() ? fmt::format("object {}", row.number("object")) : escape_text(name)});
    }
    page_.table(t);
  }

  void mismatches() {
    page_.section("mismatches", "Outcomes that differed");
    page_.paragraph(fmt::format("{} of {} outcomes differed.", format_count(uint64_t(run_.number("differed"))),
                                format_count(uint64_t(run_.number("matched") + run_.number("differed")))));
    HtmlPage::Table groups{.caption = "By kind and outcome",
                           .headings = {"kind", "expected", "got", "operations", "first at", "example"},
                           .text_columns = true,
                           .id = "difference-table"};
    int64_t shown = 0;
    for (const ResultRow& row : file_.rows("differences", id_)) {
      shown += row.number("count");
      groups.rows.push_back({row.text("kind"), row.text("expected"), row.text("got"), count(row.number("count")),
                             duration(row.number("first_ns")), escape_text(row.text("example"))});
    }
    if (!groups.rows.empty() && shown < run_.number("differed"))
      groups.rows.push_back({"others", "", "", count(run_.number("differed") - shown), "", ""});
    if (!groups.rows.empty()) page_.table(groups);
    HtmlPage::Table first{.caption = "The first ones",
                          .headings = {"operation", "kind", "at", "name", "expected", "got"},
                          .text_columns = true,
                          .folded = "The first ones",
                          .id = "mismatch-table"};
    for (const ResultRow& row : file_.rows("mismatches", id_))
      first.rows.push_back({count(row.number("seq")), row.text("kind"), duration(row.number("issued_ns")),
                            escape_text(row.text("name")), row.text("expected"), row.text("got")});
    if (!first.rows.empty()) page_.table(first);
  }

  void limits() {
    page_.section("limits", "What delayed the run");
    std::vector<std::pair<std::string, Cell>> rows = {
        {"limit", run_.text("limited_by")},
        {"operations issued more than 10 ms late", count(run_.number("behind"))},
        {"of those, waited for other operations", count(run_.number("waited"))},
        {"of those, for their own thread", count(run_.number("waited_own_thread"))},
        {"time in which more than a tenth was late", duration(run_.number("behind_ns"))},
        {"time in which the target was unresponsive", duration(run_.number("silent_ns"))},
        {"time in which the load generator stood still", duration(run_.number("stood_still_ns"))},
        {"dependencies obeyed", count(run_.number("edges"))},
        {"dependencies violated", count(run_.number("violations"))},
        {"times that the look-ahead was full", count(run_.number("window_full"))},
        {"workers", count(run_.number("workers"))},
        {"streams", count(run_.number("streams"))},
        {"objects touched", count(run_.number("objects"))},
    };
    for (const ResultRow& counter : file_.rows("counters", id_))
      if (counter.number("value")) rows.push_back({counter.text("name"), count(counter.number("value"))});
    page_.facts("limit-table", rows);
  }

  void environment() {
    page_.section("environment", "Environment");
    std::vector<std::pair<std::string, Cell>> facts;
    for (const auto& [name, column] : kEnvironment) facts.emplace_back(name, escape_text(fact_text(run_, column)));
    facts.emplace_back("memory", format_size(uint64_t(run_.number("memory_bytes"))));
    if (!run_.text("mix_dialect").empty()) facts.emplace_back("seed", std::to_string(run_.number("seed")));
    page_.facts("environment-table", facts);
  }

  HtmlPage& page_;
  ResultsReader& file_;
  const ResultRow& run_;
  const bool running_;
  const int64_t id_;
  const bool replayed_;  // true: a replay; false: a run of a program
  const std::vector<ResultRow> distributions_;
  const Responses responses_;
};

}  // namespace

void write_run(HtmlPage& page, const ChosenRun& run) { RunPart(page, run).write(); }

}  // namespace fsr::page
