// SPDX-License-Identifier: Apache-2.0
// Runs a program on several targets, in alternating rounds, and reports the differences.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "compared_program.hpp"
#include "comparison.hpp"
#include "existing_target.hpp"
#include "kept_comparison.hpp"
#include "personality.hpp"
#include "report/report.hpp"
#include "row_requirement.hpp"
#include "sql/results_reader.hpp"
#include "targets/file/file_target.hpp"
#include "util/output_file.hpp"

namespace fsr::fsbench {

namespace {

struct Options {
  std::vector<std::string> targets;
  unsigned rounds = 5, seed = 1;
  std::string html, results;
  std::vector<RowRequirement> requirements;
  bool keeps_caches = false, runs_all = false, json = false, quiet = false;
};

// Drops this machine's page cache, and its caches of names and attributes. False: not permitted.
bool drop_caches() {
  sync();
  std::ofstream control("/proc/sys/vm/drop_caches");
  return bool(control << "3" << std::flush);
}

double load_now() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

class Compare {
 public:
  Compare(const Options& options, const std::vector<std::string>& command, const std::atomic<int>& stop)
      : options_(options), stop_(stop) {
    if (command.empty() && std::any_of(options.targets.begin(), options.targets.end(), is_results_database)) {
      comparison_ = kept_comparison(options.targets);
      return;
    }
    const Words known = compared_programs();
    if (command.empty() || std::find(known.begin(), known.end(), command[0]) == known.end())
      throw std::runtime_error(
          fmt::format("expected a program behind \"--\": {}, with its options; or files of --results alone{}",
                      fmt::join(known, ", "), command.empty() ? "" : ", found '" + command[0] + "'"));
    program_ = std::make_unique<ComparedProgram>(command[0], std::vector<std::string>(command.begin() + 1, command.end()),
                                                 options.targets);
    comparison_.added = program_->added();
    comparison_.origin = own_origin("fsbench");
    comparison_.files = program_->files();
    comparison_.load_before = load_now();
    comparison_.targets = options.targets;
    comparison_.program = fmt::format("{}", fmt::join(command, " "));
    comparison_.asked = options.rounds;
    for (const std::string& target : comparison_.targets) require_directory(target);
    comparison_.may_end_early = !options.runs_all;
    for (const std::string& target : comparison_.targets) comparison_.through.push_back(way_to(target));
  }

  int run() {
    std::unique_ptr<OutputFile> page;
    std::unique_ptr<ResultsDatabase> results;
    // OutputFile advises --force, which this program lacks, because a page belongs to hours of measuring.
    if (std::error_code error; !options_.html.empty() && std::filesystem::exists(options_.html, error))
      throw std::runtime_error(options_.html + ": exists already; give --html another name");
    if (!options_.html.empty()) page = std::make_unique<OutputFile>(options_.html, false, Readers::by_umask);
    if (!options_.results.empty()) results = std::make_unique<ResultsDatabase>(options_.results);
    if (comparison_.kept) check_requirements();
    while (!comparison_.kept && comparison_.rounds < options_.rounds && round()) {
      if (comparison_.rounds == 1) check_requirements();
      if (!options_.runs_all && comparison_.rounds >= kFewestRounds && comparison_.all_decided()) break;
    }
    comparison_.interrupted = stop_.load() != 0;
    if (!comparison_.kept && comparison_.rounds == 0) throw std::runtime_error("interrupted in round 1: nothing to report");
    comparison_.load_after = load_now();
    if (!comparison_.kept) report_caches();
    if (options_.json)
      fmt::print("{}\n", comparison_.json().dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    else
      fputs(comparison_.text().c_str(), stdout);
    if (page) page->finish(comparison_.html());
    if (results) comparison_.database(*results);
    const std::string why = comparison_.interrupted ? "interrupted" : comparison_.broken;
    if (!why.empty()) fmt::print(stderr, "fsbench compare: {} in round {}\n", why, comparison_.rounds + 1);
    bool all_met = true;
    for (const RowRequirement& requirement : options_.requirements)
      for (const std::string& line : requirement.missed(comparison_)) {
        fmt::print(stderr, "{}\n", line);
        all_met = false;
      }
    if (!all_met) return kRequirementMissed;
    return !why.empty() || !comparison_.complaints.empty() ? 1 : 0;
  }

 private:
  // Throws std::runtime_error for a requirement that the measured rows can't meet, before more is measured.
  void check_requirements() const {
    for (const RowRequirement& requirement : options_.requirements)
      if (const std::string mistake = requirement.mistake(comparison_); !mistake.empty()) throw std::runtime_error(mistake);
  }

  // Runs the program on each target. False: interrupted or failed, so that the round does not count.
  bool round() {
    std::vector<size_t> order(comparison_.targets.size());
    for (size_t i = 0; i < order.size(); ++i) order[comparison_.place_in(comparison_.rounds, i)] = i;
    std::vector<ProgramRun> runs(order.size());
    for (size_t target : order) {
      if (!options_.keeps_caches) dropped_ = drop_caches() && dropped_;
      if (!options_.quiet && isatty(2))
        fmt::print(stderr, "round {} of {}: {}\n", comparison_.rounds + 1, options_.rounds, comparison_.targets[target]);
      try {
        runs[target] = program_->run(comparison_.targets[target], options_.seed + comparison_.rounds, stop_);
      } catch (const std::runtime_error& e) {
        if (comparison_.rounds == 0) throw;
        comparison_.broken = e.what();
        return false;
      }
      if (stop_.load() != 0) return false;
    }
    for (size_t target = 0; target < runs.size(); ++target) comparison_.add(target, runs[target]);
    ++comparison_.rounds;
    return true;
  }

  void report_caches() {
    comparison_.caches = options_.keeps_caches ? "caches kept"
                         : dropped_            ? "this machine's caches dropped before each run, other servers' not"
                                               : "caches kept, because only root may drop caches";
  }

  const Options& options_;
  const std::atomic<int>& stop_;
  std::unique_ptr<ComparedProgram> program_;
  Comparison comparison_;
  bool dropped_ = true;
};

Run add(Command& command, const std::atomic<int>& stop) {
  auto options = std::make_shared<Options>();
  command
      .add("TARGET", options->targets,
           "directories or URLs, or files that --results has written; the others are compared with the first")
      .required()
      .count_within(1, 26);
  command.footer(fmt::format(
      "After the targets: -- PROGRAM OPTIONS, without a target; PROGRAM is one of {}. After files of results: nothing.",
      fmt::join(compared_programs(), ", ")));
  command.add("--rounds", options->rounds, "run N times on each target (default 5)").within(1, 10'000).stands_for("N");
  command.add("--seed", options->seed, "seed the first round, if the program has seeds; later rounds count up (default 1)")
      .stands_for("N");
  command.flag("--all-rounds", options->runs_all, "run all rounds, even if every rate is decided");
  command.flag("--keep-caches", options->keeps_caches, "keep this machine's caches before each run");
  command
      .add_each(
          "--require", [options](const std::string& text) { options->requirements.emplace_back(text); },
          "exit with 3 unless, for example, 'ROW >= RATE' or 'every row >= 95%' (of the first target)")
      .stands_for("CONDITION");
  command.flag("--json", options->json, "print the comparison as JSON on standard output");
  command.add("--html", options->html, "write a page into this file").stands_for("FILE");
  command.add("--results", options->results, "add all measurements to this SQLite file").stands_for("FILE");
  command.flag("-q,--quiet", options->quiet, "print no progress");
  return [options, &stop](const auto& behind) { return Compare(*options, behind, stop).run(); };
}

}  // namespace

constinit const Personality kCompare = {
    .name = "compare", .what = "runs one of these, or fsreplay, on several targets in turn", .add = add};

}  // namespace fsr::fsbench
