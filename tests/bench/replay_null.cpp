// SPDX-License-Identifier: Apache-2.0
// Measures the speed of the replayer itself and its memory: as fast as possible, in resource order, on null:, with one worker.
// Usage: replay_null [operations [workers]]
// With 0 workers it runs without threads, so that a counter of instructions finds the same number each time. What intervals count
// goes where the results of fsreplay take it from, in one interval.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "engine/run.hpp"
#include "report/time_series.hpp"
#include "synthetic_source.hpp"
#include "targets/null/null.hpp"

using namespace fsr;

int main(int argc, char** argv) {
  uint64_t operations = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1'000'000;
  MonotonicClock clock;
  int64_t begin = clock.now();
  {
    SyntheticSource source({.operations = operations});
    OpBatch batch;
    while (source.next(batch)) {
    }
  }
  double made = double(clock.now() - begin) / 1e9;

  SyntheticSource source({.operations = operations});
  auto target = null_plugin.open("null:", {.clock = &clock});
  RunOptions options;
  options.timing = Timing::asap;
  options.workers = argc > 2 ? unsigned(atoi(argv[2])) : 1;
  options.inline_workers = options.workers == 0;
  TimeSeries series;
  options.on_interval = [&series](const Interval& interval) { series.add(interval); };
  options.interval = int64_t(3600) * 1'000'000'000;
  begin = clock.now();
  RunResult r = run(source, *target, clock, options);
  double seconds = double(clock.now() - begin) / 1e9;
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("%llu operations, %u worker(s): %.2f s, %.2f million op/s, peak memory %.0f MiB\n", (unsigned long long)r.issued(),
         r.workers, seconds, double(r.issued()) / seconds / 1e6, double(usage.ru_maxrss) / 1024);
  printf("  of that the synthetic source alone: %.2f s\n", made);
  printf("  CPU %.2f s, %llu edges, %llu violations, %llu differed\n",
         double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
         (unsigned long long)r.edges, (unsigned long long)r.violations, (unsigned long long)r.differed());
  printf("  %s\n", r.limit_text.c_str());
  return r.issued() == operations && !r.violations && !r.differed() ? 0 : 1;
}
