// SPDX-License-Identifier: Apache-2.0
// Checks a dependency that spans ten million operations, past an operation that does not end and a lock that was never granted.
// It must neither deadlock nor take memory. Usage: long_edge [operations]
#include "long_edge.hpp"

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "engine/run.hpp"

using namespace fsr;

int main(int argc, char** argv) {
  uint64_t operations = argc > 1 ? strtoull(argv[1], nullptr, 10) : 10'000'000;
  MonotonicClock clock;
  LongEdgeTarget target(clock, operations);
  LongEdgeSource source(operations);
  RunOptions options;
  options.timing = Timing::asap;
  options.workers = 1;
  RunResult r = run(source, target, clock, options);
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  bool good = r.issued() == operations && target.in_order() && !r.violations && !r.differed();
  printf("an edge %llu operations long: %s, %.2f s, peak memory %.0f MiB\n", (unsigned long long)operations,
         good ? "kept" : "BROKEN", double(r.elapsed) / 1e9, double(usage.ru_maxrss) / 1024);
  return good ? 0 : 1;
}
