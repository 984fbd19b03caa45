// SPDX-License-Identifier: Apache-2.0
// PostMark 1.53's configuration files, prompt and reports, on directories and on any other target.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "existing_target.hpp"
#include "stage/stage.hpp"
#include "subcommand.hpp"
#include "workloads/postmark/commands.hpp"
#include "workloads/postmark/counts.hpp"
#include "workloads/postmark/player.hpp"

namespace fsr::fsbench {

namespace {

using namespace postmark;

struct Options {
  std::string file;
  unsigned streams = 1;
  std::string location;  // in place of those that the file sets
  bool detail = false, json = false;
};

class Postmark {
 public:
  Postmark(const Options& options, const std::atomic<int>& stop) : options_(options), stop_(stop), umask_(umask(0)) {
    umask(umask_);
  }

  int run() {
    if (!options_.json) puts("PostMark v1.51 : 8/14/01");
    Commands commands([this](const Settings& settings) { return perform(settings); });
    if (!options_.file.empty()) {
      if (!options_.json) fmt::print("Reading configuration from file '{}'\n", options_.file);
      if (!commands.load(options_.file)) throw std::runtime_error(options_.file + ": " + strerror(errno));
    }
    if (!options_.json && !commands.quit() && !stop_.load()) commands.prompt();
    if (stop_.load()) fmt::print(stderr, "fsbench postmark: interrupted\n");
    return failed_ || commands.any_error() || stop_.load() ? 1 : 0;
  }

 private:
  std::string perform(Settings settings) {
    if (!options_.location.empty()) settings.locations = {{options_.location}};
    MonotonicClock clock;
    clock.heed(stop_);
    std::vector<std::unique_ptr<Target>> targets;
    Stage stage(clock);
    std::vector<Location> locations = settings.locations;
    if (locations.empty()) locations.push_back({"."});
    for (const Location& location : locations) {
      targets.push_back(open_existing(location.name, clock));
      stage.add(*targets.back(), options_.streams == 1 ? 1 : 0);
    }
    std::vector<Part> parts;
    std::vector<const PostmarkPlayer*> players;
    for (unsigned i = 0; i < options_.streams; ++i) {
      auto player =
          std::make_unique<PostmarkPlayer>(settings, options_.streams == 1 ? 0 : i + 1, umask_, i == 0 && !options_.json);
      players.push_back(player.get());
      parts.push_back({std::move(player), 0, i});
    }
    Played played = stage.play(parts, {.stop = &stop_});
    return summary(settings, players, played);
  }

  std::string summary(const Settings& settings, const std::vector<const PostmarkPlayer*>& players, const Played& played) {
    Counts counts = players[0]->counts();
    bool whole = true;
    for (const PostmarkPlayer* player : players) {
      if (player != players[0]) counts.add(player->counts());
      whole = whole && !player->out_of_files();
      if (player->out_of_files() && player != players[0]) fmt::print(stderr, "Error: a copy ran out of files\n");
      if (player->error_count()) complain(*player);
    }
    failed_ |= !whole;
    if (!whole || stop_.load()) return "";
    const int64_t transactions = settings.transactions * int64_t(players.size());
    if (options_.json) return json(transactions, played);
    return report(counts, transactions, settings.verbose) + (options_.detail ? detail(played) : "");
  }

  void complain(const PostmarkPlayer& player) {
    failed_ = true;
    fflush(stdout);
    for (const std::string& error : player.errors()) fmt::print(stderr, "Error: {}\n", error);
    if (player.error_count() > player.errors().size())
      fmt::print(stderr, "Error: {} more\n", player.error_count() - player.errors().size());
  }

  // Rates that need no whole seconds: of what is done to a file, by the time that it took.
  static std::string json(int64_t transactions, const Played& played) {
    const double seconds = double(played.ended - played.started) / 1e9;
    nlohmann::json rows = {{{"name", "transactions"}, {"unit", "1/s of the run"}, {"rate", double(transactions) / seconds}}};
    for (Row row = kFileCreated; row <= kFileDeleted; ++row) {
      const Histogram& service = played.counts[row].service;
      if (service.sum() > 0)
        rows.push_back({{"name", kRowNames[row]}, {"unit", "files/s"}, {"rate", double(service.count()) * 1e9 / service.sum()}});
    }
    return nlohmann::json({{"program", "postmark"}, {"seconds", seconds}, {"rows", rows}}).dump(2) + "\n";
  }

  // What the original does not tell.
  static std::string detail(const Played& played) {
    std::string text =
        fmt::format("\nTook {:.3f} seconds\n\nLatency in microseconds:\n{:<14}{:>10}{:>8}{:>9}{:>9}{:>9}{:>9}{:>10}\n",
                    double(played.ended - played.started) / 1e9, "", "count", "failed", "mean", "p50", "p90", "p99", "max");
    for (Row row = 0; row < std::size(kRowNames); ++row) {
      const Cell& cell = played.counts[row];
      if (cell.count + cell.failed == 0) continue;
      const Histogram& h = cell.service;
      auto us = [&](double q) { return double(h.quantile(q)) / 1e3; };
      text += fmt::format("{:<14}{:>10}{:>8}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>10.1f}\n", kRowNames[row], cell.count, cell.failed,
                          h.mean() / 1e3, us(0.5), us(0.9), us(0.99), double(h.max()) / 1e3);
    }
    return text;
  }

  const Options options_;
  const std::atomic<int>& stop_;
  const mode_t umask_;
  bool failed_ = false;
};

}  // namespace

Run add_postmark(Command& command, const std::atomic<int>& stop) {
  auto options = std::make_shared<Options>();
  command.add("CONFIG", options->file, "file of commands; after it, and without \"quit\" in it, commands are read at a prompt");
  command.add("--streams", options->streams, "this many copies at the same time, each with files and a seed of its own")
      .within(1, 10'000)
      .stands_for("N");
  command.flag("--detail", options->detail, "after each report, the time to the millisecond and latency by kind");
  command.add("--location", options->location, "a directory or URL, in place of all that CONFIG sets").stands_for("DIR");
  command.flag("--json", options->json,
               "instead of the transcript, the rates of each run as JSON; reads only the commands in CONFIG");
  return [options, &stop](const auto&) { return Postmark(*options, stop).run(); };
}

}  // namespace fsr::fsbench
