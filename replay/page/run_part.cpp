// SPDX-License-Identifier: Apache-2.0
#include "page/run_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "page/heat.hpp"
#include "page/over_time.hpp"
#include "page/result_cells.hpp"
#include "util/histogram_chart.hpp"
#include "util/units.hpp"

namespace fsr::page {

namespace {

constexpr double kKept = 0.99;  // share of the operations that were due; a run that completed them kept its pace

// Writes one run's part of the page.
class RunPart {
 public:
  RunPart(HtmlPage& page, const ChosenRun& chosen, size_t number)
      : page_(page),
        file_(*chosen.file),
        run_(chosen.run),
        running_(chosen.running),
        id_(run_.number("id")),
        alone_(number == 0),
        prefix_(number ? fmt::format("r{}-", number) : ""),
        suffix_(number ? fmt::format(" of run {}", chosen.number()) : ""),
        replayed_(!run_.text("ordering").empty()),
        distributions_(file_.rows("distributions", id_)),
        responses_(file_, id_) {}

  void write() {
    summary();
    load();
    latency();
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
  void section(const char* id, const std::string& heading) { page_.section(prefix_ + id, heading + suffix_); }
  std::string id(const char* name) const { return prefix_ + name; }

  void summary() {
    section("summary", "Verdict");
    const std::string reasons = run_.text("not_clean");
    page_.paragraph(running_          ? "Still running; figures are those so far."
                    : reasons.empty() ? "Clean: every operation was issued and had the expected outcome."
                                      : "Not clean: " + one_line(reasons) + ".");
    limit();
    page_.paragraph(fmt::format("{} on {}, started {} UTC{}", run_.text("input"), run_.text("target"), run_.text("started"),
                                run_.text("label").empty() ? "" : ": " + run_.text("label")));
    const ResultRow *response = distribution(distributions_, "", "response"),
                    *lateness = distribution(distributions_, "", "lateness");
    std::vector<std::pair<std::string, Cell>> tiles = {{"achieved, op/s", rate(run_.real("achieved_per_s"))}};
    if (run_.real("offered_per_s") > 0) tiles.push_back({"offered, op/s", rate(run_.real("offered_per_s"))});
    tiles.push_back({"operations", count(run_.number("issued"))});
    if (replayed_) tiles.push_back({"differed", count(run_.number("differed"))});
    tiles.push_back({"failed", count(run_.number("failed"))});
    if (const ResultRow* open = distribution(distributions_, "", "open"))
      tiles.push_back({"without a reply", count(open->number("count"))});
    tiles.push_back({"time", duration(run_.number("elapsed_ns"))});
    if (response)
      for (const Quantile& q : kQuantiles)
        if (q.share != 0.9 && q.share != 0.9999)
          tiles.push_back({std::string("response, ") + q.name, responses_.cell(q.share, response->number(q.column))});
    if (lateness) tiles.push_back({"lateness, p99", duration(lateness->number("p99_ns"))});
    tiles.push_back({"read", {format_size(uint64_t(run_.number("bytes_read"))), std::to_string(run_.number("bytes_read"))}});
    tiles.push_back(
        {"written", {format_size(uint64_t(run_.number("bytes_written"))), std::to_string(run_.number("bytes_written"))}});
    page_.tiles(tiles);
  }

  // A run that kept its pace had no limit. Its sentence says how well the pace was kept.
  void limit() {
    std::string text = run_.text("limited_by");
    if (text.empty()) return;
    if (kept_pace())
      text[0] = char(toupper(text[0]));
    else
      text.insert(0, "Limit: ");
    page_.paragraph(text + ".");
  }
  bool kept_pace() const {
    const double offered = run_.real("offered_per_s");
    return offered > 0 && run_.real("achieved_per_s") + run_.real("failed_per_s") >= kKept * offered;
  }

  static std::string one_line(std::string text) {
    for (size_t at; (at = text.find('\n')) != text.npos;) text.replace(at, 1, "; ");
    return text;
  }

  void load() {
    for (const ResultRow& row : file_.rows("intervals", id_))
      if (row.text("kind").empty()) intervals_.push_back(row);
    if (intervals_.empty()) return;
    section("load", "Load over time");
    page_.chart(load_over_time(intervals_, file_.rows("offered", id_), replayed_ ? 0 : run_.real("asked_per_s")));
  }

  void latency() {
    if (intervals_.empty()) return;
    section("latency", "Response over time");
    page_.paragraph("From the time that an operation was due to its completion, in each interval. No line: nothing completed.");
    page_.chart(response_over_time(intervals_));
    if (alone_) write_heat_maps(page_, file_.rows("heat", id_));
  }

  void distributions() {
    section("distributions", "Where the time went");
    if (replayed_)
      page_.paragraph(
          "Lateness is fsreplay's own delay. Waiting is the time until all dependencies of an operation were complete.");
    page_.paragraph(
        "Service is the time from issue to completion. Response is the time from due to completion, or so far if no reply came "
        "(\"> \": at least that long). The chart shows the share of operations that took no longer than a time.");
    HtmlPage::Table t{.caption = "Distributions",
                      .headings = {"", "operations", "p50", "p90", "p99", "p99.9", "p99.99", "max", "mean"}};
    t.id = id("distribution-table");
    std::vector<NamedHistogram> lines;
    histograms_.clear();
    histograms_.reserve(4);
    for (const char* what : {"lateness", "waiting", "service", "response"}) {
      const ResultRow* row = distribution(distributions_, "", what);
      if (!row) continue;
      std::vector<Cell> cells = {what, count(row->number("count"))};
      const bool bounds = what == std::string_view("response");
      for (const Quantile& q : kQuantiles)
        cells.push_back(bounds ? responses_.cell(q.share, row->number(q.column)) : duration(row->number(q.column)));
      cells.push_back(bounds ? responses_.mean(row->real("mean_ns")) : duration(int64_t(row->real("mean_ns"))));
      t.rows.push_back(std::move(cells));
      histograms_.push_back(file_.histogram(id_, "", what));
      lines.push_back({what, &histograms_.back()});
    }
    page_.table(t);
    if (!lines.empty()) page_.chart(share_up_to("Share up to a time", "time", lines, duration_text));
  }

  void kinds() {
    section("kinds", "By kind of operation");
    const bool recorded = std::any_of(distributions_.begin(), distributions_.end(),
                                      [](const ResultRow& r) { return r.text("what") == "recorded"; });
    HtmlPage::Table t{.caption = recorded ? "Recorded beside replayed" : "Operations by kind"};
    t.id = id("kind-table");
    t.headings = {"kind", "issued", replayed_ ? "differed" : "failed"};
    if (recorded)
      t.headings.insert(t.headings.end(), {"p50 recorded", "replayed", "ratio", "p99 recorded", "replayed", "ratio"});
    else
      t.headings.insert(t.headings.end(), {"p50", "p99", "max"});
    for (const ResultRow& kind : file_.rows("kinds", id_)) {
      const std::string name = kind.text("kind");
      const ResultRow *is = distribution(distributions_, name, "service"), *was = distribution(distributions_, name, "recorded");
      std::vector<Cell> row = {name, count(kind.number("issued")), count(kind.number(replayed_ ? "differed" : "failed"))};
      for (const char* column : recorded ? std::vector{"p50_ns", "p99_ns"} : std::vector{"p50_ns", "p99_ns", "max_ns"}) {
        if (recorded) row.push_back(was ? duration(was->number(column)) : Cell(""));
        row.push_back(is ? duration(is->number(column)) : Cell(""));
        if (recorded) row.push_back(is && was ? ratio(is->number(column), was->number(column)) : Cell(""));
      }
      t.rows.push_back(std::move(row));
    }
    page_.table(t);
  }

  // Writes the parts of a workload that the files of a program name.
  void parts() {
    HtmlPage::Table t{.caption = "Averages; a response begins when its operation is due",
                      .headings = {"", "operations", "requested %", "p50", "p99", "p99.9", "p99.99", "max"}};
    t.id = id("part-table");
    for (const ResultRow& row : file_.rows("parts", id_)) {
      if (row.number("average") == 0) continue;
      std::vector<Cell> cells = {escape_text(row.text("part") + "=" + row.text("name")), count(row.number("operations")),
                                 fmt::format("{:.2f}", row.real("asked_percent"))};
      for (const char* column : {"p50", "p99", "p999", "p9999", "max"})
        cells.push_back(duration(row.number(fmt::format("response_{}_ns", column))));
      t.rows.push_back(std::move(cells));
    }
    if (t.rows.empty()) return;
    section("parts", "By part of the workload");
    page_.table(t);
  }

  void slowest() {
    const std::vector<ResultRow> rows = file_.rows("slowest", id_);
    if (rows.empty()) return;
    section("slowest", "The slowest operations");
    HtmlPage::Table t{.caption = "By service time", .headings = {"operation", "kind", "file", "at", "service", "recorded"}};
    t.id = id("slowest-table");
    for (const ResultRow& row : rows) {
      const std::string name = row.text("name");
      t.rows.push_back({count(row.number("seq")), row.text("kind"),
                        name.empty() ? fmt::format("object {}", row.number("object")) : escape_text(name),
                        duration(row.number("issued_ns")), duration(row.number("service_ns")),
                        row.number("recorded_ns") ? duration(row.number("recorded_ns")) : Cell("")});
    }
    page_.table(t);
  }

  void mismatches() {
    section("mismatches", "Outcomes that differed");
    page_.paragraph(fmt::format("{} of {} outcomes differed.", format_count(uint64_t(run_.number("differed"))),
                                format_count(uint64_t(run_.number("matched") + run_.number("differed")))));
    HtmlPage::Table groups{.caption = "By kind and outcome",
                           .headings = {"kind", "expected", "got", "operations", "first at", "example"},
                           .text_columns = true};
    groups.id = id("difference-table");
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
                          .folded = "The first ones"};
    first.id = id("mismatch-table");
    for (const ResultRow& row : file_.rows("mismatches", id_))
      first.rows.push_back({count(row.number("seq")), row.text("kind"), duration(row.number("issued_ns")),
                            escape_text(row.text("name")), row.text("expected"), row.text("got")});
    if (!first.rows.empty()) page_.table(first);
  }

  void facts(const char* table, const std::string& caption, const std::vector<std::pair<std::string, Cell>>& rows) {
    HtmlPage::Table t{.caption = caption, .headings = {"", ""}, .text_columns = true};
    t.id = id(table);
    for (const auto& [name, value] : rows)
      if (!value.text.empty()) t.rows.push_back({name, value});
    page_.table(t);
  }

  void limits() {
    section("limits", "What delayed the run");
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
    facts("limit-table", "Limits, waits and what the target did in addition", rows);
  }

  void environment() {
    section("environment", "Environment");
    auto text = [&](const char* name) { return Cell(escape_text(run_.text(name))); };
    facts("environment-table", "Where and how the run was made",
          {{"command", text("command")},
           {"program", text("program")},
           {"host", text("host")},
           {"kernel", text("kernel")},
           {"processors", fmt::format("{} {}", run_.number("cpus"), escape_text(run_.text("cpu")))},
           {"memory", format_size(uint64_t(run_.number("memory_bytes")))},
           {"directory", text("directory")},
           {"directory lies on", text("directory_mount")},
           {"target lies on", text("target_mount")},
           {"trace", text("trace_id")},
           {"mix", text("mix_dialect")},
           {"seed", run_.text("mix_dialect").empty() ? Cell("") : Cell(std::to_string(run_.number("seed")))},
           {"acting as", text("uid")}});
  }

  HtmlPage& page_;
  ResultsReader& file_;
  const ResultRow& run_;
  const bool running_;
  const int64_t id_;
  const bool alone_;  // on its page, which has room for more pictures then
  const std::string prefix_, suffix_;
  const bool replayed_;  // true: a replay; false: a run of a program
  const std::vector<ResultRow> distributions_;
  const Responses responses_;
  std::vector<ResultRow> intervals_;  // of all kinds together
  std::vector<Histogram> histograms_;
};

}  // namespace

void write_run(HtmlPage& page, const ChosenRun& run, size_t number) { RunPart(page, run, number).write(); }

}  // namespace fsr::page
