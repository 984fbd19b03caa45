// SPDX-License-Identifier: Apache-2.0
// The configuration files, prompt and reports of PostMark 1.53, on directories and on any other target.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "cluster/cluster.hpp"
#include "cluster/rank_group.hpp"
#include "cluster/rank_options.hpp"
#include "existing_target.hpp"
#include "kept_results.hpp"
#include "personality.hpp"
#include "rank_table.hpp"
#include "report_rows.hpp"
#include "response_json.hpp"
#include "threads/thread_runner.hpp"
#include "util/units.hpp"
#include "workloads/postmark/commands.hpp"
#include "workloads/postmark/copies_result.hpp"
#include "workloads/postmark/counts.hpp"
#include "workloads/postmark/postmark_thread.hpp"

namespace fsr::fsbench {

namespace {

using namespace postmark;

struct Options {
  std::string file;
  unsigned streams = 1;  // copies on each rank
  std::string results;   // results database; empty: none
  std::string location;  // used instead of the locations in the file; empty: not given
  bool detail = false, json = false;
  ClusterOptions cluster;
};

class Postmark {
 public:
  Postmark(const Options& options, Cluster& cluster, const std::atomic<int>& stop)
      : options_(options), cluster_(cluster), stop_(stop), ranks_(cluster, stop), umask_(umask(0)) {
    umask(umask_);
  }

  // Runs the commands of the root; the other ranks follow it.
  int run() { return cluster_.root() ? command() : follow(); }

 private:
  int command() {
    if (ranks_.several() && options_.file.empty())
      throw std::runtime_error("several ranks: expected CONFIG, because ranks read no commands from standard input");
    kept_.emplace(options_.results);
    if (!options_.json) puts("PostMark v1.51 : 8/14/01");
    Commands commands([this](const Settings& settings) { return perform(settings); });
    if (!options_.file.empty()) {
      if (!options_.json) fmt::print("Reading configuration from file '{}'\n", options_.file);
      if (!commands.load(options_.file)) throw std::runtime_error(options_.file + ": " + strerror(errno));
    }
    if (!options_.json && !ranks_.several() && !commands.quit() && !stop_.load()) commands.prompt();
    if (ranks_.lost().empty()) cluster_.broadcast("");
    if (stopped_ || stop_.load()) fmt::print(stderr, "fsbench postmark: interrupted\n");
    const bool interrupted = stopped_ || stop_.load();
    if (commands.any_error() && !began_ && !interrupted) return 2;
    return failed_ || commands.any_error() || interrupted ? 1 : 0;
  }

  int follow() {
    for (;;) {
      const std::string from_root = cluster_.broadcast("");
      if (from_root.empty()) return 0;
      try {
        run_postmark(Settings::load(from_root));
      } catch (const CommonFailure&) {
        // The root reports it as an error of its command, and goes on to the next.
      }
    }
  }

  // Executes the command "run". Its exceptions are reported as errors of that command.
  std::string perform(const Settings& settings) {
    if (!ranks_.lost().empty()) throw std::runtime_error("no further run is started without all ranks: " + ranks_.lost());
    cluster_.broadcast(settings.save());
    return run_postmark(settings);
  }

  // Runs PostMark on all ranks. Returns the report, on the root.
  std::string run_postmark(Settings settings) {
    if (!options_.location.empty()) settings.locations = {{options_.location}};
    MonotonicClock clock;
    clock.heed(stop_);
    std::vector<std::unique_ptr<Target>> targets;
    ThreadRunner runner(clock);
    cluster_.on_all([&] {
      PostmarkThread::check_memory(settings, options_.streams);
      std::vector<Location> locations = settings.locations;
      if (locations.empty()) locations.push_back({"."});
      for (const Location& location : locations) {
        targets.push_back(open_existing(by_path(location.name, !location.name.starts_with('/')), clock));
        runner.add(*targets.back(), options_.streams == 1 ? 1 : 0);
      }
    });
    began_ = true;
    CopiesResult mine;
    ranks_.work([&] { mine = run_copies(settings, runner); });
    const auto all = ranks_.gather(mine);
    return cluster_.root() ? summary(settings, all) : "";
  }

  CopiesResult run_copies(const Settings& settings, ThreadRunner& runner) {
    const unsigned copies = options_.streams * cluster_.size(), first = options_.streams * cluster_.rank();
    std::vector<SimThreadSpec> parts;
    std::vector<const PostmarkThread*> threads;
    for (unsigned i = 0; i < options_.streams; ++i) {
      auto thread = std::make_unique<PostmarkThread>(settings, copies == 1 ? 0 : first + i + 1, umask_,
                                                     cluster_.root() && i == 0 && !options_.json);
      threads.push_back(thread.get());
      parts.push_back({std::move(thread), 0, i});
    }
    RunnerResult measured = runner.run(parts, {.stop = &stop_});
    CopiesResult result;
    result.tally = std::move(measured.counts);
    result.elapsed = measured.ended - measured.started;
    result.transactions = settings.transactions * int64_t(threads.size());
    result.stopped = stop_.load() != 0;
    for (const PostmarkThread* thread : threads) {
      result.counts.add(thread->counts());
      result.out_of_files += thread->out_of_files();
      result.add_errors(thread->errors(), thread->error_count());
    }
    return result;
  }

  std::string summary(const Settings& settings, const std::vector<std::optional<CopiesResult>>& parts) {
    CopiesResult all;
    std::vector<RankRow> ranks;
    fflush(stdout);
    for (unsigned rank = 0; rank < parts.size(); ++rank) {
      if (!parts[rank]) continue;
      all.add(*parts[rank]);
      complain(*parts[rank], ranks_.several() ? cluster_.name_of(rank) + ": " : "");
      ranks.push_back({rank, cluster_.hosts()[rank], double(parts[rank]->elapsed) / 1e9, rates(*parts[rank])});
    }
    if (!ranks_.lost().empty()) fmt::print(stderr, "Error: {}\n", ranks_.lost_line(ranks.size()));
    failed_ |= all.out_of_files != 0 || all.error_count != 0 || !ranks_.lost().empty();
    stopped_ |= all.stopped;
    if (all.out_of_files != 0 || all.stopped) return "";
    const nlohmann::json document = json(all, ranks);
    try {
      kept_->keep(load(settings), places(settings), rows_of(document), all.elapsed, failed_ ? 1 : 0);
    } catch (const std::exception& e) {  // the report is worth more than its copy
      fmt::print(stderr, "Error: {}\n", e.what());
      failed_ = true;
    }
    if (options_.json) return document.dump(2) + "\n";
    const std::string of_ranks = rank_table(ranks);
    return report(all.counts, all.transactions, settings.verbose) + (of_ranks.empty() ? "" : "\n" + of_ranks) +
           (options_.detail ? detail(all) : "");
  }

  void complain(const CopiesResult& result, const std::string& who) const {
    for (const std::string& error : result.errors) fmt::print(stderr, "Error: {}{}\n", who, error);
    if (result.error_count > result.errors.size())
      fmt::print(stderr, "Error: {}{} more\n", who, result.error_count - result.errors.size());
    if (result.out_of_files && (ranks_.several() || options_.streams > 1))  // a single copy says so itself
      fmt::print(stderr, "Error: {}{} copies ran out of files\n", who, result.out_of_files);
  }

  // Returns rates by the exact time of each kind of action on files, instead of whole seconds.
  static std::vector<RunRow> rates(const CopiesResult& result) {
    std::vector<RunRow> rows;
    if (result.elapsed > 0)
      rows.push_back({"transactions", "1/s of the run", double(result.transactions) * 1e9 / double(result.elapsed)});
    for (Row row = kFileCreated; row <= kFileDeleted; ++row) {
      const Histogram& service = result.tally[row].service;
      if (service.sum() > 0) rows.push_back({kRowNames[row], "files/s", double(service.count()) * 1e9 / service.sum()});
    }
    return rows;
  }

  // Returns what determines the load.
  std::string load(const Settings& s) const {
    return fmt::format(
        "postmark number {} transactions {} size {} {} subdirectories {} read {} write {} buffering {} bias {} {} "
        "seed {} --streams {}",
        s.files, s.transactions, s.size_low, s.size_high, s.subdirectories, s.read_block, s.write_block, s.buffered, s.bias_read,
        s.bias_create, s.seed, options_.streams * cluster_.size());
  }

  std::string places(const Settings& settings) const {
    std::string names;
    for (const Location& location : settings.locations) names += (names.empty() ? "" : " ") + location.name;
    return names.empty() ? "." : names;
  }

  static nlohmann::json json(const CopiesResult& all, const std::vector<RankRow>& ranks) {
    nlohmann::json rows = json_of(rates(all));
    for (nlohmann::json& row : rows)
      for (Row kind = kFileCreated; kind <= kFileDeleted; ++kind)
        if (row["name"] == kRowNames[kind]) row["response"] = response_json(all.tally[kind].service);
    nlohmann::json document = {{"program", "postmark"}, {"seconds", double(all.elapsed) / 1e9}, {"rows", rows}};
    add_ranks(document, ranks);
    return document;
  }

  // Returns details that the original does not print.
  static std::string detail(const CopiesResult& all) {
    std::string text =
        fmt::format("\nTook {:.3f} seconds\n\nLatency in microseconds:\n{:<14}{:>10}{:>8}{:>9}{:>9}{:>9}{:>9}{:>10}\n",
                    double(all.elapsed) / 1e9, "", "count", "failed", "mean", "p50", "p90", "p99", "max");
    for (Row row = 0; row < std::size(kRowNames); ++row) {
      const KindCounters& cell = all.tally[row];
      if (cell.count + cell.failed == 0) continue;
      const Histogram& h = cell.service;
      auto us = [&](double q) { return double(h.quantile(q)) / 1e3; };
      text += fmt::format("{:<14}{:>10}{:>8}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>10.1f}\n", kRowNames[row], cell.count, cell.failed,
                          h.mean() / 1e3, us(0.5), us(0.9), us(0.99), double(h.max()) / 1e3);
    }
    return text;
  }

  const Options& options_;
  Cluster& cluster_;
  const std::atomic<int>& stop_;
  RankGroup ranks_;
  const mode_t umask_;
  bool failed_ = false, stopped_ = false;
  bool began_ = false;               // true: a run has begun
  std::optional<KeptResults> kept_;  // only on the root
};

int run(Options options, const std::atomic<int>& stop) {
  options.cluster.stop = &stop;
  const std::string what = fmt::format("--streams {} --location '{}'", options.streams, options.location);
  return on_ranks(options.cluster, what, [&](Cluster& cluster) { return Postmark(options, cluster, stop).run(); });
}

Run add(Command& command, const std::atomic<int>& stop) {
  auto options = std::make_shared<Options>();
  command.add("CONFIG", options->file, "file of commands; unless the file has \"quit\", more commands are read at a prompt");
  command.add("--streams", options->streams, "run N copies at once in each process, each with own files and seed")
      .within(1, 10'000)
      .stands_for("N");
  command.flag("--detail", options->detail, "print time in milliseconds and latency by kind after each report");
  command.add("--location", options->location, "use this directory or URL instead of all locations in CONFIG").stands_for("DIR");
  command.flag("--json", options->json,
               "print the rates of each run as JSON instead of the transcript; read only commands in CONFIG");
  add_results_option(command, options->results);
  add_rank_options(command, options->cluster);
  return [options, &stop](const auto&) { return run(*options, stop); };
}

constexpr std::string_view kFlags[] = {"--detail", "--json"};

constexpr Compared kAsCompared = {
    .check =
        [](const Words& arguments) {
          if (first_word(arguments, kFlags).empty()) throw std::runtime_error("postmark: expected CONFIG, a file of commands");
        },
    .replaced = [](const Words& arguments) -> std::string {
      const std::string config = first_word(arguments, kFlags);
      std::ifstream in(config);
      for (std::string line; std::getline(in, line);)
        if (line.starts_with("set location"))
          return fmt::format("--location TARGET, which replaces '{}' of {}", escape_text(line), escape_text(config));
      return "";
    },
    .on = [](const std::string& target, unsigned, const Words&) -> Words {
      return {"--location", target};
    },
};

}  // namespace

constinit const Personality kPostmark = {.name = "postmark",
                                         .what = "creates, reads, appends and deletes small files",
                                         .add = add,
                                         .on_ranks = true,
                                         .compared = &kAsCompared};

}  // namespace fsr::fsbench
