// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/reports.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "util/chart.hpp"
#include "util/clock_ns.hpp"
#include "util/units.hpp"

namespace fsr::vdbench {

namespace {

// Returns lines in a box, as all important messages have.
std::string boxed(int64_t wall, const std::vector<std::string>& lines) {
  size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, line.size());
  const std::string edge = std::string(width + 4, '*') + "\n";
  std::string text = "*\n" + edge;
  for (const std::string& line : lines) text += fmt::format("* {:<{}} *\n", line, width);
  return timed(wall, text + edge + "*\n");
}

}  // namespace

Reports::Reports(const ReportOptions& options, const std::vector<PlannedRun>& runs, const std::vector<std::string>& lines,
                 const std::vector<Statement>& statements)
    : options_(options),
      columns_(make_columns(runs, options.layout)),
      summary_(options.directory, "summary"),
      totals_(options.directory, "totals"),
      log_(options.directory, "logfile"),
      status_(options.directory, "status"),
      errors_(options.directory, "errorlog"),
      histogram_(options.directory, "histogram") {
  Page parameters(options.directory, "parmfile"), scan(options.directory, "parmscan");
  for (const std::string& line : lines) parameters.put(html_text(line) + "\n");
  for (const Statement& statement : statements)
    for (const Parameter& p : statement.parameters) {
      std::string values;
      for (const Value& v : p.values) values += (values.empty() ? "" : ",") + v.text;
      scan.put(html_text(fmt::format("{}:{}: keyw: {:<20} parm: {}\n", p.position.file ? *p.position.file : "", p.position.line,
                                     p.keyword, values)));
    }
  pages_.push_back(flatfile_page(options.directory, !runs.empty() && !runs[0].systems.empty(), options.layout));
  pages_.push_back(skew_page(options.directory, *columns_, run_links(runs), options_.hosts));
  pages_.push_back(detail_pages(options.directory, *columns_, options.general, options_.hosts));
  pages_.push_back(curves_page(options.directory));
  if (options.json) pages_.push_back(json_page(*options.json));
  const int64_t now = clock_ns(CLOCK_REALTIME);
  summary_.put(
      fmt::format("Vdbench summary report, created {:%H:%M:%S %b %d %Y}\n\n", fmt::localtime(time_t(now / 1'000'000'000))));
  for (const auto& [words, name] :
       {std::pair("Link to logfile:", "logfile"), std::pair("Run totals:", "totals"), std::pair("Vdbench status:", "status"),
        std::pair("Copy of input parameter files:", "parmfile"), std::pair("Copy of parameter scan detail:", "parmscan"),
        std::pair("Link to errorlog:", "errorlog"), std::pair("Link to flatfile:", "flatfile"),
        std::pair("Link to page of curves:", "curves"), std::pair("Link to response time histogram:", "histogram"),
        std::pair("Link to workload skew report:", "skew")})
    summary_.put(fmt::format("{:<33}<A HREF=\"{}.html\">{}</A>\n", words, name, name));
  const std::string links = run_links(runs);
  std::vector<std::string> hosts, slaves;
  for (const HostRanks& host : options.hosts) {
    hosts.push_back(host.name);
    for (size_t i = 0; i < host.ranks.size(); ++i) slaves.push_back(slave_name(host, i));
  }
  summary_.put(page_links("HOST", hosts) + page_links("SLAVE", slaves) + part_links(runs, options.general.storage_pages) + "\n" +
               links);
  totals_.put("Run totals\n\n\n" + links);
  histogram_.put("Total response time histogram.\n\n\n" + links);
  errors_.put(fmt::format(
      "Vdbench error log, created {:%H:%M:%S %b %d %Y}\nFailed operations and wrong data follow. No line: there were none.\n\n",
      fmt::localtime(time_t(now / 1'000'000'000))));
  status_.put(
      "* Vdbench status\n\n* The objective of this file is to contain easily parseable information about the current state of "
      "Vdbench.\n* Programs may follow it: each line is there as soon as it is true.\n* The values below are all "
      "tab-delimited.\n\n");
  // Prints the first steps of the original, because programs that follow this file wait for these lines.
  for (const char* words :
       {"Starting slaves", "Slaves connected", "Query host configuration started", "Query host configuration completed"})
    status(words);
}

void Reports::everywhere(const std::string& text) {
  if (silent()) return;
  if (!options_.quiet) {
    fputs(text.c_str(), stdout);
    fflush(stdout);
  }
  summary_.put(html_text(text));
  log_.put(html_text(text));
}

void Reports::note(const std::string& text) { everywhere(clock_text(clock_ns(CLOCK_REALTIME)) + " " + text + "\n"); }

void Reports::status(const std::string& words, const RunRecord* record) {
  std::string text =
      fmt::format("{:%m/%d/%Y-%H:%M:%S-%Z} \t{}", fmt::localtime(time_t(clock_ns(CLOCK_REALTIME) / 1'000'000'000)), words);
  if (record) text += fmt::format("\trd={}\tFor loops: {}", record->run->name, record->run->loops);
  status_.put(html_text(text) + "\n");
}

void Reports::error(const std::string& text) {
  std::lock_guard lock(errors_mutex_);
  if (silent()) kept_.push_back(text);
  errors_.put(html_text(fmt::format("{} {}\n", clock_text(clock_ns(CLOCK_REALTIME)), text)));
}

template <class Act>
void Reports::for_each_page(Act act) {
  for (const auto& page : pages_) act(*page);
  if (options_.other) act(*options_.other);
}

void Reports::begin(const RunRecord& record) {
  if (silent()) return;
  const std::string title = fmt::format("{} Starting RD={}", clock_text(record.wall), record.run->title());
  if (!options_.quiet) fmt::print("{}\n\n{}", title, columns_->heading(record.wall));
  fflush(stdout);
  log_.put(html_text(title) + "\n\n" + columns_->heading(record.wall));
  const std::string link = run_heading(record, title);
  summary_.put(link + "\n" + columns_->heading(record.wall));
  totals_.put(link);
  histogram_.put(link);
  if (!std::exchange(totals_headed_, true)) totals_.put("\n" + columns_->heading(record.wall));
  for_each_page([&](RunPage& page) { page.begin(record, title); });
  status("Starting", &record);
}

void Reports::interval(const RunRecord& record) {
  if (silent()) return;
  everywhere(columns_->line(record.latest));
  for_each_page([&](RunPage& page) { page.interval(record); });
  if (record.intervals == record.warmup) status("Warmup done", &record);
}

void Reports::end(const RunRecord& record) {
  if (silent()) return;
  everywhere(columns_->line(record.average));
  totals_.put(columns_->line(record.average));
  for_each_page([&](RunPage& page) { page.end(record); });
  if (options_.general.histogram_shown)
    histogram_.put(histogram_text(record.average.all, !record.run->systems.empty(), options_.general.histogram));
  if (const std::string limit = limit_of(record); !limit.empty())
    everywhere(boxed(
        clock_ns(CLOCK_REALTIME),
        {fmt::format("Warning for rd={}: requested {} a second, achieved {}", record.run->name,
                     count_text(record.run->rate.value), count_text(rate(record.average.all.requested, record.average.seconds))),
         "Limit: " + limit}));
  for (const HostRanks& host : options_.hosts)
    if (const double busy = line_of_ranks(record.average, host.ranks).cpu.busy(); busy > 80)
      everywhere(boxed(clock_ns(CLOCK_REALTIME),
                       {fmt::format("Warning for host={}: average processor utilization {:.1f}%", host.name, busy),
                        "Any processor utilization over 80% could mean that your system",
                        "does not have enough cycles to run the highest rate possible."}));
  if (!record.events.empty()) everywhere(timed(clock_ns(CLOCK_REALTIME), "\nMiscellaneous statistics:\n" + record.events + "\n"));
  for (const std::string& line : record.wrong_blocks) error(line);
  for (const RankLine& rank : record.ranks)
    note(fmt::format("rank {} ({}): {} operations in {:.3f} s, {} failed, {}", rank.rank, rank.host,
                     format_count(rank.operations), rank.seconds, format_count(rank.failed), size_text(double(rank.bytes))));
  status("Workload done", &record);
  status("Slaves done", &record);
}

void Reports::finish_pages() {
  if (silent()) return;
  for_each_page([](RunPage& page) { page.finish(); });
  check_pages();
}

void Reports::finish(const std::string& verdict) {
  everywhere(clock_text(clock_ns(CLOCK_REALTIME)) + " " + verdict + "\n");
  status("Shutting down slaves");
  status("Vdbench complete");
}

}  // namespace fsr::vdbench
