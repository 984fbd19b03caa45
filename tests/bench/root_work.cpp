// SPDX-License-Identifier: Apache-2.0
// Measures the work of the root for a growing number of ranks. Prints a line for each number.
//
// root_work merge SECONDS RANKS...: runs a mix on memory: at 20,000 calls a second for SECONDS, as one rank would. Then merges
// its intervals and its result with as many copies as there are other ranks.
//
// root_work messages BYTES RANKS...: forks ranks that only compare their clocks, meet, and send BYTES each to the root.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "cli/rank_results.hpp"
#include "cluster/cluster.hpp"
#include "cycle/run_steps.hpp"
#include "engine/run_merge.hpp"
#include "inputs/mix/mix_input.hpp"
#include "report/report.hpp"
#include "trace/bytes.hpp"

using namespace fsr;

namespace {

struct Recorded {
  Report report;
  RankIntervals intervals;
  uint64_t count = 0;  // number of intervals
};

Recorded record(int64_t seconds) {
  const std::atomic<int> stop{0};
  Recorded recorded;
  MonotonicClock clock;
  const auto target = open_target("memory:", {.clock = &clock});
  MixOptions options;
  options.loads = {20'000};
  options.duration = seconds * 1'000'000'000;
  MixInput input(*built_in_mix("sfs97-v3"), options);
  RunSteps life(input, *target, clock, stop, recorded.report);
  input.next_round();
  life.read({}, {});
  if (!life.prepare({})) throw std::runtime_error("memory: could not be prepared");
  RunOptions run;
  run.progress = [&](const Progress& progress) { recorded.report.series.add(progress); };
  run.on_interval = [&](const Interval& interval) {
    recorded.intervals.add(RankInterval(interval, recorded.report.series.add(interval)));
    ++recorded.count;
  };
  life.run(run);
  return recorded;
}

void merge(int argc, char** argv) {
  const Recorded recorded = record(atoll(argv[2]));
  const std::string intervals = recorded.intervals.save();
  ByteWriter result;
  save_result(result, recorded.report.result);
  MonotonicClock clock;
  for (int i = 3; i < argc; ++i) {
    const unsigned others = unsigned(atoi(argv[i])) - 1;
    RankIntervals all = recorded.intervals;
    RunResult sum = recorded.report.result;
    const int64_t began = clock.now();
    for (unsigned n = 0; n < others; ++n) all.merge(intervals);
    const int64_t between = clock.now();
    for (unsigned n = 0; n < others; ++n) {
      ByteReader in(result.view());
      merge_result(sum, load_result(in), recorded.report.options);
    }
    const double ms = double(between - began) / 1e6 / double(recorded.count), once = double(clock.now() - between) / 1e6;
    printf("%5u ranks: each interval %.2f MB and %.2f ms, each result %.2f MB and %.2f ms\n", others + 1,
           double(intervals.size()) * others / double(recorded.count) / 1e6, ms, double(result.size()) * others / 1e6, once);
  }
}

void messages(int argc, char** argv) {
  const std::string text(size_t(atoll(argv[2])), 'x');
  for (int i = 3; i < argc; ++i) {
    ClusterOptions options;
    options.ranks = unsigned(atoi(argv[i]));
    on_ranks(options, "", [&](Cluster& cluster) {
      MonotonicClock clock;
      cluster.barrier();
      int64_t times[4] = {clock.now()};
      cluster.compare_clocks();
      cluster.barrier();
      times[1] = clock.now();
      cluster.barrier();
      times[2] = clock.now();
      cluster.gather(text);
      times[3] = clock.now();
      if (!cluster.root()) _exit(0);
      auto ms = [&](int from) { return double(times[from + 1] - times[from]) / 1e6; };
      printf("%5s ranks: clocks are compared in %.1f ms, all meet in %.1f ms, send in %.1f ms\n", argv[i], ms(0), ms(1), ms(2));
      fflush(stdout);
      return 0;
    });
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) throw std::runtime_error("expected merge SECONDS RANKS... or messages BYTES RANKS...");
  (strcmp(argv[1], "merge") == 0 ? merge : messages)(argc, argv);
  return 0;
} catch (const std::exception& e) {
  fprintf(stderr, "root_work: %s\n", e.what());
  return 2;
}
