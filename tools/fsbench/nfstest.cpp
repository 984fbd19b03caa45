// SPDX-License-Identifier: Apache-2.0
// The words and lines of NFSTEST/MPI, on directories and on any other target, with several processes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "cluster/cluster.hpp"
#include "cluster/rank_options.hpp"
#include "existing_target.hpp"
#include "kept_results.hpp"
#include "nfstest_output.hpp"
#include "personality.hpp"
#include "threads/thread_runner.hpp"
#include "util/memory.hpp"
#include "workloads/nfstest/nfstest.hpp"

namespace fsr::fsbench {

namespace {

using namespace nfstest;

struct Options {
  std::vector<std::string> words;
  ClusterOptions cluster;
  NfstestOutput output;
};

mode_t current_umask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

class Test {
 public:
  Test(const Options& options, Cluster& cluster, const std::atomic<int>& stop)
      : options_(options), cluster_(cluster), stop_(stop), settings_(parse(options.words, cluster.size())) {
    clock_.heed(stop);
  }

  int run() {
    std::vector<uint64_t> sizes, skipped;
    for (uint64_t size : settings_.sizes()) (fits(size) ? sizes : skipped).push_back(size);
    if (sizes.empty())
      throw std::runtime_error(fmt::format("S{}: expected a quota that holds all files at their smallest size, m{}",
                                           settings_.space, settings_.least));
    cluster_.on_all([&] {
      check_memory(sizes.back());
      open();
    });
    cluster_.on_all([this] {  // last, because it empties the output file
      if (cluster_.root()) printer_.emplace(settings_, cluster_, options_.output);
    });
    RankRole role;
    role.rank = cluster_.rank();
    role.ranks = cluster_.size();
    role.shift = reader_shift(cluster_.hosts());
    role.sync = options_.output.sync;
    role.umask = current_umask();
    Listener listener;
    if (printer_) {
      printer_->begin(skipped);
      listener.starting = [this](uint64_t iteration, uint64_t size) { printer_->starting(iteration, size); };
      listener.ended = [this](const StageResult& result) { printer_->ended(result); };
    }
    const Ending ending = Nfstest(cluster_, *runner_, *target_, clock_, settings_, stop_).run(sizes, role, listener);
    return printer_ ? printer_->end(ending) : 0;
  }

 private:
  bool fits(uint64_t size) const { return settings_.space == 0 || size * settings_.files * cluster_.size() <= settings_.space; }

  void check_memory(uint64_t size) const {
    const uint64_t needed = settings_.buffer_bytes(size), memory = memory_limit();
    if (needed > memory)
      throw std::runtime_error(fmt::format("files of {}{}: a buffer of {} bytes, expected at most the memory of {} bytes; set b",
                                           size, settings_.unit_name(), needed, memory));
  }

  void open() {
    target_ = open_existing(settings_.folder, clock_);
    runner_ = std::make_unique<ThreadRunner>(clock_);
    runner_->add(*target_, 1);
  }

  const Options& options_;
  Cluster& cluster_;
  const std::atomic<int>& stop_;
  const Settings settings_;
  MonotonicClock clock_;
  std::unique_ptr<Target> target_;
  std::unique_ptr<ThreadRunner> runner_;
  std::optional<NfstestPrinter> printer_;  // only on the root
};

int run(Options options, const std::atomic<int>& stop) {
  options.cluster.stop = &stop;
  const NfstestOutput& output = options.output;
  const std::string what = fmt::format("words {}{}{}{}", fmt::join(options.words, " "), output.compat ? " --compat" : "",
                                       output.sync ? " --fsync" : "", output.json ? " --json" : "");
  return on_ranks(options.cluster, what, [&](Cluster& cluster) { return Test(options, cluster, stop).run(); });
}

Run add(Command& command, const std::atomic<int>& stop) {
  auto options = std::make_shared<Options>();
  command.add("WORDS", options->words,
              "a letter and its value each: unit u, sizes m to M by step s or factor K, buffer b, files n, folder f, output o, "
              "direct d, check c, verbose v, repeats R, space S");
  add_results_option(command, options->output.results);
  add_rank_options(command, options->cluster);
  command.flag("--compat", options->output.compat, "print times with one decimal, as the original does");
  command.flag("--fsync", options->output.sync, "call fsync before each written file is closed");
  command.flag("--json", options->output.json, "print results as JSON, with each rank, and latencies");
  return [options, &stop](const auto&) { return run(*options, stop); };
}

}  // namespace

constinit const Personality kNfstest = {
    .name = "nfstest", .what = "writes and reads files by several processes, stage by stage", .add = add, .on_ranks = true};

}  // namespace fsr::fsbench
