// SPDX-License-Identifier: Apache-2.0
// Measures what it costs to start reads of a cached file at given times, and how late they start. Threads take turns: one that is
// early sleeps until a margin before its time, and stays awake for the rest. A margin of 0 only sleeps.
//
//   paced_reads FILE [RATE [THREADS [SECONDS]]]      100,000/s by 8 threads, 3 s for each margin
//
// Prints for each margin: starts a second, CPU us a read, and the lateness of starts.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kBlock = 4096;
constexpr int64_t kSecond = 1'000'000'000;

int64_t now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * kSecond + t.tv_nsec;
}

int64_t cpu() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * kSecond + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

void wait_until(int64_t due, int64_t margin) {
  const int64_t wake = due - margin;
  if (now() < wake) {
    const timespec at{wake / kSecond, wake % kSecond};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
  }
  while (now() < due) {
  }
}

struct Load {
  int fd;
  uint64_t blocks;  // of the file
  int64_t begin, gap;
  unsigned threads, reads;
};

// Makes every threads-th read from the one with number `first` on, and returns how late each began, ns.
std::vector<int64_t> read_in_turn(const Load& load, unsigned first, int64_t margin) {
  prctl(PR_SET_TIMERSLACK, 1);
  std::mt19937_64 random(first);
  std::vector<char> buffer(kBlock);
  std::vector<int64_t> late;
  for (unsigned i = first; i < load.reads; i += load.threads) {
    const int64_t due = load.begin + i * load.gap;
    wait_until(due, margin);
    late.push_back(now() - due);
    if (pread(load.fd, buffer.data(), kBlock, off_t(random() % load.blocks * kBlock)) != kBlock) exit(1);
  }
  return late;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: paced_reads FILE [RATE [THREADS [SECONDS]]]\n");
    return 2;
  }
  const auto number = [&](int at, unsigned usual) { return argc > at ? unsigned(std::max(atoi(argv[at]), 1)) : usual; };
  const unsigned rate = number(2, 100'000), threads = number(3, 8), duration = number(4, 3);
  const int fd = open(argv[1], O_RDONLY);
  if (fd < 0) return perror(argv[1]), 2;
  const uint64_t blocks = uint64_t(lseek(fd, 0, SEEK_END)) / kBlock;
  if (blocks == 0) return 2;
  fmt::print("{:>9} {:>10} {:>8} {:>9} {:>9} {:>9}\n", "margin", "reads/s", "CPU us", "late p50", "p99", "p99.9");
  for (const int64_t margin : {0, 10'000, 20'000, 40'000, 80'000}) {
    const Load load{fd, blocks, now() + kSecond / 10, kSecond / rate, threads, rate * duration};
    const int64_t used = cpu();
    std::vector<std::vector<int64_t>> late(threads);
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; ++i)
      running.emplace_back([&load, &late, i, margin] { late[i] = read_in_turn(load, i, margin); });
    for (std::thread& thread : running) thread.join();
    const int64_t took = now() - load.begin, cost = cpu() - used;
    std::vector<int64_t> all;
    for (const auto& each : late) all.insert(all.end(), each.begin(), each.end());
    std::sort(all.begin(), all.end());
    const auto quantile = [&](double q) { return double(all[size_t(q * double(all.size() - 1))]) / 1e3; };
    fmt::print("{:>6} us {:>10.0f} {:>8.2f} {:>6.1f} us {:>6.1f} us {:>6.1f} us\n", margin / 1000,
               double(all.size()) / double(took) * 1e9, double(cost) / double(all.size()) / 1e3, quantile(0.5), quantile(0.99),
               quantile(0.999));
  }
  close(fd);
}
