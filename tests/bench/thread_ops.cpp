// SPDX-License-Identifier: Apache-2.0
// thread_ops URL THREADS [ROUNDS]: measures the cost of a simulated thread. In each round several loops read 4 KiB from anywhere
// in a file, a fifth of a second each. They count and time every read. The loops are: THREADS threads on one worker of a runner;
// the same requests submitted to a session by hand; on file: also pread(2), and preadv2(2) with RWF_NOWAIT. Prints the medians of
// the rounds in operations per second, and of their ratios.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "bench_files.hpp"
#include "threads/sim_context.hpp"
#include "threads/thread_runner.hpp"
#include "util/histogram.hpp"

using namespace fsr;

namespace {

constexpr uint64_t kBlock = 4096;
constexpr int64_t kTurn = 200'000'000;  // ns of one loop in a round

struct Reads {
  explicit Reads(unsigned thread) : random(thread) {
    op = {.kind = OpKind::read, .thread = thread, .object = object(kFrom), .handle = kFrom, .length = kBlock, .result = kBlock};
  }
  const Op& next() {
    op.offset = random() % (kBenchFileBytes / kBlock) * kBlock;
    return op;
  }
  Op op;
  std::minstd_rand random;
};

class Reader final : public SimThread {
 public:
  explicit Reader(unsigned thread) : reads_(thread) {}
  SimTask run(SimContext& sim) override {
    while (!sim.ended()) co_await sim.perform(reads_.next(), 0);
  }

 private:
  Reads reads_;
};

double by_threads(Target& target, Clock& clock, unsigned threads) {
  ThreadRunner runner(clock);
  runner.add(target, 1);
  std::vector<SimThreadSpec> parts;
  for (unsigned i = 0; i < threads; ++i) parts.push_back({std::make_unique<Reader>(i + 1)});
  const RunnerResult measured = runner.run(parts, {.duration = kTurn});
  if (measured.counts[0].failed) throw std::runtime_error("reads failed");
  return double(measured.counts[0].count) / double(measured.ended - measured.started) * 1e9;
}

// Submits requests directly, with as many in flight as there are threads.
class ByHand final : private Completion {
 public:
  ByHand(Target& target, Clock& clock, unsigned depth) : clock_(clock), session_(target.open_session()) {
    for (unsigned i = 0; i < depth; ++i) slots_.push_back(std::make_unique<Slot>(i + 1));
  }
  double run() {
    const int64_t begun = clock_.now();
    end_ = begun + kTurn;
    for (auto& slot : slots_) slot->waits = true;
    for (bool idle = false; !idle || clock_.now() < end_;) {
      bool full = true;
      idle = true;
      for (auto& slot : slots_) {
        if (slot->waits && clock_.now() < end_) issue(*slot);
        full = full && !slot->waits;
        idle = idle && slot->waits;
      }
      if (!idle) session_->poll(full || clock_.now() >= end_ ? INT64_MAX : 0, -1, *this);
    }
    return double(count_) / double(clock_.now() - begun) * 1e9;
  }

 private:
  struct Slot {
    explicit Slot(unsigned thread) : reads(thread) { request.owner = this; }
    Reads reads;
    TargetRequest request;
    int64_t issued = 0;
    bool waits = true;
  };
  void issue(Slot& slot) {
    slot.request.op = &slot.reads.next();
    slot.request.outcome = {};
    slot.issued = clock_.now();
    switch (session_->submit(slot.request)) {
      case Submit::completed:
        return count(slot);
      case Submit::queued:
        slot.waits = false;
        return;
      case Submit::busy:
        return;
    }
  }
  void completed(TargetRequest& request) override {
    Slot& slot = *static_cast<Slot*>(request.owner);
    slot.waits = true;
    count(slot);
  }
  void count(Slot& slot) {
    if (slot.request.outcome.error) throw std::runtime_error("reads failed");
    times_.add((slot.request.outcome.completed ? slot.request.outcome.completed : clock_.now()) - slot.issued);
    ++count_;
  }

  Clock& clock_;
  std::unique_ptr<TargetSession> session_;
  std::vector<std::unique_ptr<Slot>> slots_;
  Histogram times_;
  uint64_t count_ = 0;
  int64_t end_ = 0;
};

// Measures reads per second. `waits`: reads with pread(2), otherwise with preadv2(2) and RWF_NOWAIT, which a target needs if it
// has other work. Throws if the file system does not support that.
double by_plain_calls(const std::string& path, Clock& clock, bool waits) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::runtime_error(path + ": " + strerror(errno));
  Reads reads(1);
  Histogram times;
  uint64_t count = 0;
  std::vector<char> buffer(kBlock);
  const int64_t begun = clock.now();
  int64_t now = begun;
  for (; now < begun + kTurn; ++count) {
    const int64_t issued = now;
    const off_t offset = off_t(reads.next().offset);
    const iovec into{buffer.data(), kBlock};
    const ssize_t got = waits ? pread(fd, buffer.data(), kBlock, offset) : preadv2(fd, &into, 1, offset, RWF_NOWAIT);
    if (got != ssize_t(kBlock)) throw std::runtime_error(path + ": short read");
    now = clock.now();
    times.add(now - issued);
  }
  close(fd);
  return double(count) / double(now - begun) * 1e9;
}

double median(std::vector<double> of) {
  std::nth_element(of.begin(), of.begin() + of.size() / 2, of.end());
  return of[of.size() / 2];
}

std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> r;
  for (size_t i = 0; i < a.size(); ++i) r.push_back(a[i] / b[i]);
  return r;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 4) throw std::runtime_error("usage: thread_ops URL THREADS [ROUNDS]");
  const std::string url = argv[1];
  const unsigned threads = unsigned(std::max(1, atoi(argv[2])));
  const unsigned rounds = argc > 3 ? unsigned(std::max(1, atoi(argv[3]))) : 9;
  const bool files = url.starts_with("file:");
  MonotonicClock clock;
  std::unique_ptr<Target> target = open_target(url, {.clock = &clock});
  const BenchFiles made(*target, clock, nullptr, nullptr);
  std::vector<double> measured, by_hand, plain, nowait;
  for (unsigned i = 0; i < rounds; ++i) {
    measured.push_back(by_threads(*target, clock, threads));
    by_hand.push_back(ByHand(*target, clock, threads).run());
    if (!files) continue;
    plain.push_back(by_plain_calls(url.substr(5) + "/bench-from", clock, true));
    nowait.push_back(by_plain_calls(url.substr(5) + "/bench-from", clock, false));
  }
  printf("%-30s %3u threads: %9.0f/s, %.2f of the session by hand (%9.0f/s)", url.c_str(), threads, median(measured),
         median(ratios(measured, by_hand)), median(by_hand));
  if (files) printf(", %.2f of pread(2) (%9.0f/s)", median(ratios(measured, plain)), median(plain));
  if (files && median(nowait) > 0)
    printf(", %.2f of preadv2(2) with RWF_NOWAIT (%9.0f/s)", median(ratios(measured, nowait)), median(nowait));
  puts("");
  return 0;
} catch (const std::exception& e) {
  return fprintf(stderr, "thread_ops: %s\n", e.what()), 2;
}
