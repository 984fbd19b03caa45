// SPDX-License-Identifier: Apache-2.0
// target_ops URL stat|read|read1m|write1m|copy DEPTH SECONDS [FILE TO]: runs operations on a target through the whole engine.
// DEPTH streams issue one operation after the other. Prints operations, seconds, and seconds of CPU of the run alone.
//   stat  attributes of a file
//   read  4 KiB from anywhere in a file
//   read1m, write1m  1 MiB from or to anywhere in a file
//   copy  the first 4 KiB of a file are read and written to another: two operations
// The files are FILE and TO in the target's root, or else new files (the first with 64 MiB), which are removed at the end.
// On a raw: target the file is the whole device, of which only the header block is written.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "bench_files.hpp"
#include "engine/run.hpp"
#include "op_source.hpp"

using namespace fsr;

namespace {

constexpr uint64_t kBlock = 4096;

// Operations of one kind, or a read and a write in turn.
class Operations final : public OpSource {
 public:
  Operations(const std::string& kind, uint64_t bytes, unsigned streams, Clock& clock, int64_t until)
      : streams_(streams), blocks_(bytes / kBlock), clock_(clock), until_(until) {
    if (kind == "stat")
      turns_ = {OpKind::getattr};
    else if (kind == "read")
      turns_ = {OpKind::read};
    else if (kind == "read1m" || kind == "write1m")
      turns_ = {kind == "read1m" ? OpKind::read : OpKind::write}, size_ = 1 << 20, blocks_ = bytes / size_;
    else if (kind == "copy")
      turns_ = {OpKind::read, OpKind::write}, blocks_ = 1;
    else
      throw std::runtime_error("expected stat, read, read1m, write1m or copy, not '" + kind + "'");
  }
  bool next(OpBatch& batch) override {
    batch.clear();
    if (clock_.now() >= until_) return false;
    for (unsigned i = 0; i < kMadeAtOnce; ++i, ++seq_) {
      const OpKind kind = turns_[seq_ / streams_ % turns_.size()];
      const File file = kind == OpKind::write ? kTo : kFrom;
      // The operation is recorded as overlapping with one of each other stream; otherwise writes to one file would be issued one
      // by one.
      Op op{.seq = seq_,
            .start = int64_t(seq_),
            .duration = int64_t(streams_ - 1),
            .kind = kind,
            .thread = ThreadId(1 + seq_ % streams_),
            .object = object(file)};
      if (kind != OpKind::getattr) {
        op.handle = file;
        op.offset = blocks_ == 1 ? 0 : random_() % blocks_ * size_;
        op.length = op.result = size_;
      }
      batch.ops.push_back(op);
    }
    return true;
  }

 private:
  static constexpr unsigned kMadeAtOnce = 1024;
  uint64_t streams_, blocks_, seq_ = 0, size_ = kBlock;
  Clock& clock_;
  int64_t until_;  // time after which no operation is made
  std::vector<OpKind> turns_;
  std::mt19937_64 random_{1};
};

double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5 && argc != 7)
    throw std::runtime_error("usage: target_ops URL stat|read|read1m|write1m|copy DEPTH SECONDS [FILE TO]");
  const unsigned depth = unsigned(atoi(argv[3]));
  MonotonicClock clock;
  std::unique_ptr<Target> target = open_target(argv[1], {.clock = &clock, .force = true});
  std::unique_ptr<BenchFiles> files;
  uint64_t bytes = kBenchFileBytes;
  if (target->places_files()) {
    bytes = target->space().free;
    target->place_files({{FileUse{object(kFrom), bytes}}});
  } else {
    files = std::make_unique<BenchFiles>(*target, clock, argc > 5 ? argv[5] : nullptr, argc > 5 ? argv[6] : nullptr);
  }
  const int64_t duration = int64_t(atof(argv[4]) * 1e9);
  Operations source(argv[2], bytes, depth, clock, clock.now() + duration);
  RunOptions options;
  options.timing = Timing::asap;
  options.workers = 1;
  options.duration = duration;  // operations made but not issued by then are left out
  options.window_ops = 4096;    // enough, and quickly filled, so that only issuing is measured
  const double before = cpu_seconds();
  RunResult r = run(source, *target, clock, options);
  const double cpu = cpu_seconds() - before;
  if (r.differed() || r.violations) throw std::runtime_error("operations failed");
  printf("%llu %.6f %.6f\n", (unsigned long long)r.issued(), double(r.elapsed) / 1e9, cpu);
  return 0;
} catch (const std::exception& e) {
  return fprintf(stderr, "target_ops: %s\n", e.what()), 2;
}
