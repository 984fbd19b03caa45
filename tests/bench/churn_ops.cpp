// SPDX-License-Identifier: Apache-2.0
// churn_ops DIR [ROUNDS]: measures the cost of a simulated thread that creates and removes files. In each round two loops run for
// half a second each. Each loop makes a file, writes 4 KiB to it twice, closes it, opens it, reads 4 KiB, closes it and removes
// it. The first loop is a thread on a runner, which times every request. The second one makes the system calls directly and
// measures no times. Prints the medians of the rounds in operations per second, and the interval of their ratios. Then the same
// of the processor time of an operation, which other programs on the machine disturb less.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "threads/sim_context.hpp"
#include "threads/thread_runner.hpp"
#include "util/clock_ns.hpp"

using namespace fsr;

namespace {

constexpr uint64_t kBlock = 4096;
constexpr int64_t kTurn = 500'000'000;  // ns of one loop in a round
constexpr unsigned kCalls = 8;          // system calls for each file
const std::string kContent(kBlock, 'x');

class Churner final : public SimThread {
 public:
  SimTask run(SimContext& sim) override {
    for (uint64_t number = 0; !sim.ended(); ++number) {
      const std::string name = std::to_string(number);
      const ObjectId object = sim.new_object();
      Op made{
          .kind = OpKind::create, .mode = 0600, .open_flags = O_RDWR | O_CREAT | O_EXCL, .object = object, .parent = kRootObject};
      made.handle = sim.new_handle();
      made.name = name;
      co_await sim.perform(made, 0);
      Op request{.object = object, .handle = made.handle, .length = kBlock};
      request.kind = OpKind::write;
      co_await sim.perform(request, 0, {.payload = kContent});
      request.offset = kBlock;
      co_await sim.perform(request, 0, {.payload = kContent});
      request.offset = request.length = 0;
      request.kind = OpKind::release;
      co_await sim.perform(request, 0);
      request.kind = OpKind::open;
      request.open_flags = O_RDONLY;
      request.handle = sim.new_handle();
      co_await sim.perform(request, 0);
      request.kind = OpKind::read;
      request.open_flags = 0;
      request.length = kBlock;
      co_await sim.perform(request, 0);
      request.kind = OpKind::release;
      request.length = 0;
      co_await sim.perform(request, 0);
      made.kind = OpKind::unlink;
      made.open_flags = made.mode = 0;
      made.handle = 0;
      co_await sim.perform(made, 0);
    }
  }
};

struct Measured {
  double rate, cost;  // operations per second, ns of processor time for each
};

int64_t cpu_time() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

Measured by_thread(Target& target, Clock& clock) {
  ThreadRunner runner(clock);
  runner.add(target, 1);
  std::vector<SimThreadSpec> parts;
  parts.push_back({std::make_unique<Churner>()});
  const int64_t used = cpu_time();
  const RunnerResult measured = runner.run(parts, {.duration = kTurn});
  const auto count = double(measured.counts[0].count);
  if (measured.counts[0].failed) throw std::runtime_error("operations failed");
  return {count / double(measured.ended - measured.started) * 1e9, double(cpu_time() - used) / count};
}

int checked(ssize_t result) {
  if (result < 0) throw std::runtime_error(strerror(errno));
  return int(result);
}

Measured by_bare_calls(const std::string& path, Clock& clock) {
  const int dir = checked(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  char buffer[kBlock];
  const int64_t begun = clock.now(), used = cpu_time();
  uint64_t number = 0;
  for (; clock.now() < begun + kTurn; ++number) {
    const std::string name = std::to_string(number);
    int fd = checked(openat(dir, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    checked(pwrite(fd, kContent.data(), kBlock, 0));
    checked(pwrite(fd, kContent.data(), kBlock, kBlock));
    checked(close(fd));
    fd = checked(openat(dir, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    checked(pread(fd, buffer, kBlock, 0));
    checked(close(fd));
    checked(unlinkat(dir, name.c_str(), 0));
  }
  const int64_t ended = clock.now();
  close(dir);
  const auto count = double(number * kCalls);
  return {count / double(ended - begun) * 1e9, double(cpu_time() - used) / count};
}

double median(std::vector<double> of) {
  std::nth_element(of.begin(), of.begin() + of.size() / 2, of.end());
  return of[of.size() / 2];
}

void print(const std::string& what, const std::vector<double>& ours, const std::vector<double>& bare) {
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / bare[i]);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  printf("%s: %.0f by a thread, %.2f (%.2f to %.2f) of the bare calls (%.0f)\n", what.c_str(), median(ours), median(ratios),
         *least, *most, median(bare));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2 && argc != 3) throw std::runtime_error("usage: churn_ops DIR [ROUNDS]");
  const std::string directory = argv[1];
  const unsigned rounds = argc > 2 ? unsigned(std::max(1, atoi(argv[2]))) : 9;
  MonotonicClock clock;
  std::unique_ptr<Target> target = open_target("file:" + directory, {.clock = &clock});
  std::vector<double> rates, bare_rates, costs, bare_costs;
  for (unsigned i = 0; i < rounds; ++i) {
    const Measured ours = by_thread(*target, clock), bare = by_bare_calls(directory, clock);
    rates.push_back(ours.rate);
    bare_rates.push_back(bare.rate);
    costs.push_back(ours.cost);
    bare_costs.push_back(bare.cost);
  }
  print(directory + ": operations per second", rates, bare_rates);
  print("ns of processor time for each", costs, bare_costs);
  return 0;
} catch (const std::exception& e) {
  return fprintf(stderr, "churn_ops: %s\n", e.what()), 2;
}
