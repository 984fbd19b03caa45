// SPDX-License-Identifier: Apache-2.0
// raw_reads PATH DEPTH SECONDS: random reads of 4 KiB from all of a device or file, through the whole engine onto raw:, from
// DEPTH streams that each issue the next read when the one before is done. Prints reads, seconds, and seconds of CPU of the run
// alone. Writes the header block of a raw: target and nothing else.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "engine/clock.hpp"
#include "engine/run.hpp"
#include "op_source.hpp"
#include "targets/target.hpp"

using namespace fsr;

namespace {

constexpr uint64_t kBlock = 4096;
constexpr ObjectId kFile = kRootObject + 1;

class RandomReads final : public OpSource {
 public:
  RandomReads(uint64_t bytes, unsigned streams) : blocks_(bytes / kBlock), streams_(streams) {}
  bool next(OpBatch& batch) override {
    batch.clear();
    for (unsigned i = 0; i < kBatch; ++i, ++seq_)
      batch.ops.push_back({.seq = seq_,
                           .start = int64_t(seq_),
                           .kind = OpKind::read,
                           .thread = ThreadId(1 + seq_ % streams_),
                           .object = kFile,
                           .offset = random_() % blocks_ * kBlock,
                           .length = kBlock,
                           .result = kBlock});
    return true;
  }

 private:
  static constexpr unsigned kBatch = 1024;
  uint64_t blocks_, streams_, seq_ = 0;
  std::mt19937_64 random_{1};
};

double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) throw std::runtime_error("usage: raw_reads PATH DEPTH SECONDS");
  const unsigned depth = unsigned(atoi(argv[2]));
  MonotonicClock clock;
  std::unique_ptr<Target> target = open_target("raw:" + std::string(argv[1]), {.clock = &clock, .force = true});
  const uint64_t bytes = target->space().free;
  target->place_files({{FileUse{kFile, bytes}}});
  RandomReads source(bytes, depth);
  RunOptions options;
  options.timing = Timing::asap;
  options.workers = 1;
  options.duration = int64_t(atof(argv[3]) * 1e9);
  const double before = cpu_seconds();
  RunResult r = run(source, *target, clock, options);
  const double cpu = cpu_seconds() - before;
  if (r.differed() || r.violations) throw std::runtime_error("reads failed");
  printf("%llu %.6f %.6f\n", (unsigned long long)r.issued(), double(r.elapsed) / 1e9, cpu);
  return 0;
} catch (const std::exception& e) {
  return fprintf(stderr, "raw_reads: %s\n", e.what()), 2;
}
