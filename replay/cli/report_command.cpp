// SPDX-License-Identifier: Apache-2.0
#include "cli/report_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>

#include "page/hdr_log.hpp"
#include "page/results_page.hpp"
#include "util/command.hpp"
#include "util/output_file.hpp"

namespace fsr {

namespace {

struct ReportArguments {
  std::vector<std::string> files;
  std::string output, kind, what = "response";
  std::vector<uint32_t> numbers;  // numbers of runs; empty: all
  bool force = false;
};

std::vector<ChosenRun> choose(const ReportArguments& arguments) {
  std::vector<ChosenRun> runs;
  size_t others = 0;
  for (const std::string& file : arguments.files) {
    auto reader = std::make_shared<ResultsReader>(file);
    for (ResultRow& run : reader->runs()) {
      const auto id = uint32_t(run.number("id"));
      const auto& wanted = arguments.numbers;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), id) == wanted.end()) continue;
      // Runs of most programs of fsbench can't be shown: their tables are not those of a replay.
      if (run.text("timing").empty())
        ++others;
      else
        runs.push_back({reader, std::move(run)});
    }
  }
  if (runs.empty())
    throw std::runtime_error(arguments.files[0] + (others ? ": holds only runs of fsbench, expected a run of fsreplay or vdbench"
                                                   : arguments.numbers.empty() ? ": holds no run"
                                                                               : ": holds no run with a number of --run"));
  return runs;
}

const ChosenRun& only(const std::vector<ChosenRun>& runs) {
  if (runs.size() > 1)
    throw std::runtime_error(
        fmt::format("--run: expected one run for a .hgrm or .hlog file, found {}; give --run NUMBER", runs.size()));
  return runs[0];
}

std::string page(const ReportArguments&, const std::vector<ChosenRun>& runs) { return results_page(runs); }

std::string hgrm(const ReportArguments& arguments, const std::vector<ChosenRun>& runs) {
  const ChosenRun& one = only(runs);
  const bool of_kind = !arguments.kind.empty();
  const int64_t id = one.run.number("id");
  const Histogram h = one.file->histogram(id, arguments.kind, of_kind ? "service" : arguments.what);
  if (!h.count())
    throw std::runtime_error(fmt::format("{} {}: run {} of {} has no such measurements", of_kind ? "--kind" : "--what",
                                         of_kind ? arguments.kind : arguments.what, id, one.file->path()));
  return hgrm_text(h);
}

// Writes a line for each distribution of the run, with its name as the tag.
std::string hlog(const ReportArguments&, const std::vector<ChosenRun>& runs) {
  const ChosenRun& one = only(runs);
  const int64_t id = one.run.number("id");
  std::vector<HdrLine> lines;
  for (const ResultRow& row : one.file->rows("distributions", id)) {
    const std::string kind = row.text("kind"), what = row.text("what");
    lines.push_back({kind.empty() ? what : kind + "-" + what, 0, double(one.run.number("elapsed_ns")) / 1e9,
                     one.file->histogram(id, kind, what)});
  }
  return hlog_text(one.run.number("started_ns"), {one.run.text("command"), "nanoseconds"}, lines);
}

using Write = std::string (*)(const ReportArguments&, const std::vector<ChosenRun>&);

Write format_of(const std::string& output) {
  static const std::map<std::string, Write> kFormats{{".html", page}, {".hgrm", hgrm}, {".hlog", hlog}};
  const size_t dot = output.rfind('.');
  auto found = kFormats.find(dot == output.npos ? "" : output.substr(dot));
  if (found == kFormats.end()) throw std::runtime_error(output + ": expected a name that ends in .html, .hgrm or .hlog");
  return found->second;
}

}  // namespace

int report_command(int argc, char** argv) {
  Program program("fsreplay report", "Shows runs from a --results file.");
  ReportArguments arguments;
  program.add("RESULTS", arguments.files, "databases that --results wrote").required();
  program.add("-o,--output", arguments.output, "write a page (.html), percentiles (.hgrm) or histograms (.hlog)")
      .stands_for("FILE")
      .required();
  program.add("--run", arguments.numbers, "show only the runs with these numbers").stands_for("N").separated_by_commas();
  program.add("--what", arguments.what, "write this distribution to .hgrm: lateness, waiting, service or response (default)")
      .stands_for("WHICH")
      .one_of({"lateness", "waiting", "service", "response"});
  program.add("--kind", arguments.kind, "write the service time of this kind of operation to .hgrm");
  program.flag("--force", arguments.force, "replace an existing output");
  try {
    if (auto status = program.parse(argc, argv)) return *status;
    const Write write = format_of(arguments.output);
    const std::vector<ChosenRun> runs = choose(arguments);
    OutputFile output(arguments.output, arguments.force, Readers::by_umask);
    output.finish(write(arguments, runs));
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "fsreplay report: {}\n", e.what());
    return 2;
  }
}

}  // namespace fsr
