// SPDX-License-Identifier: Apache-2.0
// fstrace report: what is in a trace, in pictures, on one HTML page that needs nothing else.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "failed_lookups.hpp"
#include "file_groups.hpp"
#include "model/model_source.hpp"
#include "model/shipped_models.hpp"
#include "report_sections.hpp"
#include "selection.hpp"
#include "subcommand.hpp"
#include "trace/spool.hpp"
#include "util/html_page.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

struct ReportOptions {
  std::vector<std::string> files;
  std::string output;
  bool force = false;
};

class ReportPage {
 public:
  // `model`: of which the trace is a run; null: a trace of a capture.
  ReportPage(const ReportOptions& options, TraceReader& reader, const LoadModel* model)
      : reader_(reader), model_(model), page_("Report on " + options.files[0]) {
    LiveState state;
    reader.load_state(INT64_MIN, state);
    state.each_name(
        [&](ObjectId parent, std::string_view name, ObjectId object, uint32_t) { paths_.learn(parent, name, object); });
    profile_.read(reader, options.files[0], [&](const OpBatch& batch) {
      files_.begin_batch();
      commands_.begin_batch();
      activity_.begin_batch();
      for (const Op& op : batch.ops) {
        slowest_.add(op, paths_);  // before it changes a name
        paths_.apply(op);
        if (op.object)
          files_.add(op);
        else
          ++without_file_;
        lookups_.add(op);
        latencies_.add(op);
        commands_.add(op);
        activity_.add(op);
      }
    });
  }
  int status() const { return profile_.status; }

  std::string make() {
    if (model_) add_model_sections(page_, *model_);
    summary();
    add_what_was_slow(page_, activity_, slowest_, profile_);
    load();
    mix();
    latency();
    sizes();
    files();
    failed_lookups();
    commands();
    pauses();
    concurrency();
    outcomes();
    return page_.finish();
  }

 private:
  void summary() {
    const TraceHeader& h = profile_.header;
    const Measure& all = profile_.total;
    const WorkingSet set = profile_.working_set();
    page_.section("summary", "Summary");
    if (!model_)
      page_.paragraph(fmt::format("Recorded {:%Y-%m-%d %H:%M:%S} UTC by {}{}{}", fmt::gmtime(time_t(h.epoch / 1'000'000'000)),
                                  h.program, h.host.empty() ? "" : " on " + h.host,
                                  h.directory.empty() ? "" : ", directory " + h.directory));
    for (const std::string& edit : h.edits) page_.paragraph("Edited: " + edit);
    const TraceClosing* closing = reader_.closing();
    const std::string fault = !closing                    ? "the closing statement is missing"
                              : closing->dropped          ? format_count(closing->dropped) + " operations were dropped"
                              : !closing->clean           ? (closing->reason.empty() ? "no clean end" : closing->reason)
                              : !reader_.damage().empty() ? reader_.damage().front().what
                                                          : "";
    const std::string whole = fmt::format("Complete: {} operations in {}, none was dropped.", format_count(all.operations),
                                          format_duration(profile_.covered.span()));
    if (fault.empty())
      page_.verdict(HtmlPage::Mark::good, whole, what_was_slow());
    else
      page_.verdict(HtmlPage::Mark::bad, "Not complete: " + fault + ".", what_was_slow());
    page_.tiles({{"operations", count_cell(all.operations)},
                 {"failed", count_cell(all.failed)},
                 {"unfinished", count_cell(all.unfinished)},
                 {"time", duration_cell(profile_.covered.span())},
                 {"operations a second", count_text(profile_.rate())},
                 {"read", size_cell(all.read_bytes)},
                 {"written", size_cell(all.written_bytes)},
                 {"latency, p50", duration_cell(all.latency.quantile(0.5))},
                 {"latency, p99", duration_cell(all.latency.quantile(0.99))},
                 {"in flight, mean", fmt::format("{:.2f}", profile_.in_flight())},
                 {"files touched", count_cell(set.files)},
                 {"working set, about", format_size(set.bytes)}});
  }

  std::vector<std::string> what_was_slow() const {
    const Measure& all = profile_.total;
    if (all.latency.sum() <= 0) return {};
    const auto most = std::max_element(profile_.kinds.begin(), profile_.kinds.end(),
                                       [](const Measure& a, const Measure& b) { return a.latency.sum() < b.latency.sum(); });
    double work = all.busy();
    for (OpKind waits : {OpKind::setlk, OpKind::flock}) work -= profile_.kinds[size_t(waits)].busy();
    work = std::max(work, 0.0);
    return {fmt::format("What was slow: {} took {} of all the time in the file system, with {} of the operations.",
                        op_name(OpKind(most - profile_.kinds.begin())), percent_text(most->latency.sum() / all.latency.sum()),
                        percent_text(double(most->operations) / double(all.operations))),
            fmt::format("One operation in a hundred took longer than {}, one in a thousand longer than {}; the longest took {}.",
                        format_duration(all.latency.quantile(0.99)), format_duration(all.latency.quantile(0.999)),
                        format_duration(all.latency.max())),
            fmt::format("How busy: {} in all, {} of the time of one thread, without locks.", format_duration(int64_t(work)),
                        percent_text(work / std::max(1.0, double(profile_.covered.span()))))};
  }

  void load() {
    page_.section(
        "load", "Load over time",
        "Who worked when: each field of a row is a stretch of time, and the darker it is, the more operations began in it.");
    add_activity(page_, activity_, profile_.seconds());
    std::vector<Chart> charts = {over_time("Operations", "operations/s",
                                           {{"", &profile_, [](const TimeBin& b) { return double(b.operations); }}}, count_text)};
    if (profile_.total.reads + profile_.total.writes) {
      charts.push_back(over_time("Data", "bytes/s",
                                 {{"read", &profile_, [](const TimeBin& b) { return double(b.read_bytes); }},
                                  {"written", &profile_, [](const TimeBin& b) { return double(b.written_bytes); }}},
                                 size_text));
      charts.back().binary_y = true;
    }
    page_.charts(charts, "These values as a table");
  }

  void mix() {
    page_.section("mix", "Mix",
                  "Latency on a logarithmic scale, with marks at p50 and p99. Sorted by the time that operations took together.");
    std::vector<HotPart> kinds;
    for (size_t k = 0; k < kOpKinds; ++k)
      if (profile_.kinds[k].operations) kinds.push_back({op_name(OpKind(k)), &profile_.kinds[k]});
    add_hot_table(page_, "kinds", "Operations by kind; the bar is the share of the time", "kind", std::move(kinds), true);
  }

  void latency() {
    page_.section("latency", "Latency");
    page_.paragraph("The share of operations that took no longer than a time. A steep line means similar latencies.");
    page_.chart(share_up_to("Latency", "latency", {{"all", &profile_.total.latency}}, log_time_text));
    page_.paragraph(
        fmt::format("Latency over time. Each cell and each step stands for the operations that started within {}. A gap: no "
                    "operation started.",
                    duration_text(double(latencies_.width()))));
    page_.heat_maps({latencies_.heat_map(profile_.seconds())});
    page_.chart(latencies_.chart(profile_.seconds()));
  }

  void failed_lookups() {
    if (!lookups_.failed()) return;
    page_.section("lookups", "Failed look-ups");
    page_.paragraph(fmt::format("{} look-ups found no file of that name.", format_count(lookups_.failed())));
    HtmlPage::Table t{.caption = "The directories with the most failed look-ups",
                      .headings = {"directory", "failed", "of the look-ups there", "time", "such as"},
                      .id = "lookups-table"};
    for (const FailedLookups::Directory& d : lookups_.most(kHot)) {
      const double share = double(d.failed) / double(lookups_.failed());
      t.rows.push_back({HtmlPage::Cell::barred(paths_.path(d.object), share), count_cell(d.failed),
                        share_cell(d.failed, d.lookups), duration_cell(d.time), d.example});
    }
    page_.table(t);
  }

  void sizes() {
    const Measure &reads = profile_.kinds[size_t(OpKind::read)], &writes = profile_.kinds[size_t(OpKind::write)];
    if (!reads.size.count() && !writes.size.count()) return;
    page_.section("sizes", "Sizes of reads and writes");
    const Measure& all = profile_.total;
    page_.paragraph(fmt::format("{} of reads and writes are sequential.",
                                percent_text(all.transfers ? double(all.sequential) / double(all.transfers) : 0)));
    std::vector<NamedHistogram> lines;
    if (reads.size.count()) lines.push_back({"reads", &reads.size});
    if (writes.size.count()) lines.push_back({"writes", &writes.size});
    Chart chart = share_up_to("Requested sizes", "size", lines, size_text);
    chart.binary_x = true;
    page_.chart(chart);
  }

  void files() {
    const std::vector<FileGroup> by_path = groups_by_path(files_, paths_);
    std::vector<HotPart> parts;
    for (const FileGroup& file : by_path)
      parts.push_back(
          {file.files > 1 ? fmt::format("{} ({} files, one after another)", file.path, file.files) : file.path, &file.measure});
    page_.section("files", "Hot files");
    add_hot_table(page_, "files-table", "The files that took the most time", "file", std::move(parts));
    if (without_file_)
      page_.paragraph(
          fmt::format("{} operations concerned no file, such as lookups of missing names.", format_count(without_file_)));
  }

  void commands() {
    std::vector<HotPart> parts;
    for (const StatGroups::Group& g : commands_.groups()) parts.push_back({commands_.labels(g, paths_)[0].text, &g.measure});
    page_.section("commands", "Commands");
    add_hot_table(page_, "commands-table", "The commands that took the most time", "command", std::move(parts));
  }

  void pauses() {
    page_.section("think", "Think time and arrivals");
    page_.paragraph(
        "Think time is the time from the end of an operation to the start of the next one of the same thread. Gaps are the times "
        "from any start to the next.");
    page_.chart(
        share_up_to("Think time and gaps", "time", {{"think time", &profile_.think}, {"gaps", &profile_.gaps}}, log_time_text));
  }

  void concurrency() {
    page_.section("concurrency", "Concurrency");
    page_.paragraph(fmt::format("{:.2f} operations were in flight on average, {} at most.", profile_.in_flight(),
                                format_count(profile_.concurrency.most())));
    page_.chart(over_time("In flight over time", "operations in flight",
                          {{"", &profile_, [](const TimeBin& b) { return b.busy_ns / 1e9; }}}, count_text));
    page_.chart(time_at_depth({&profile_}));
  }

  void outcomes() {
    page_.section("outcomes", "Outcomes");
    std::map<int32_t, uint64_t> errors;
    for (const auto& kind : profile_.outcomes)
      for (const auto& [error, n] : kind) errors[error] += n;
    std::vector<std::pair<uint64_t, int32_t>> sorted;
    for (const auto& [error, n] : errors) sorted.emplace_back(n, error);
    std::sort(sorted.rbegin(), sorted.rend());
    HtmlPage::Table t{.caption = "How operations ended", .headings = {"outcome", "operations", "share"}, .id = "outcome-table"};
    for (const auto& [n, error] : sorted) {
      const std::string name = error < 0 ? "unfinished" : error ? error_name(error) : "ok";
      t.rows.push_back({HtmlPage::Cell::barred(name, double(n) / double(profile_.total.operations)), count_cell(n),
                        share_cell(n, profile_.total.operations)});
    }
    page_.table(t);
  }

  TraceReader& reader_;
  const LoadModel* const model_;
  HtmlPage page_;
  Profile profile_;
  Paths paths_;
  FailedLookups lookups_;
  LatencyTimeline latencies_;
  CommandActivity activity_;
  SlowestOps slowest_;
  uint64_t without_file_ = 0;
  StatGroups files_{{Dimension::file}}, commands_{{Dimension::command}};
};

int report(const ReportOptions& options) {
  std::optional<LoadModel> model;
  std::unique_ptr<TraceReader> reader;
  if (options.files.size() == 1) model = model_by_name(options.files[0]);
  if (model) {
    const int fd = unnamed_file(), copy = dup(fd);
    if (copy < 0) throw std::runtime_error(options.files[0] + ": too many open files");
    write_model_trace(*model, {}, fd);
    reader = std::make_unique<TraceReader>(copy, options.files[0]);
  } else {
    reader = open_trace(options.files);
  }
  OutputFile output(options.output, options.force, Readers::by_umask);
  ReportPage report(options, *reader, model ? &*model : nullptr);
  output.finish(report.make());
  return report.status();
}

}  // namespace

Run add_report(Command& command) {
  auto options = std::make_shared<ReportOptions>();
  add_files(command, options->files);
  command.add("-o,--output", options->output, "write this page").required();
  command.flag("--force", options->force, "replace an existing page");
  return [options] { return report(*options); };
}

}  // namespace fsr::fstrace
