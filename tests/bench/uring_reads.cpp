// SPDX-License-Identifier: Apache-2.0
// Compares the least that two ways to read 4 KiB blocks of a cached file at random cost: pread(2), one call for each block, and
// io_uring with a registered file and buffer, one call for each batch. The two take turns.
//
//   uring_reads FILE [BATCH [ROUNDS]]      8 blocks a batch, 15 rounds of 400,000 blocks
//
// Prints medians: blocks a second, CPU us a block, and the ratios of io_uring to pread.
#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

constexpr unsigned kBlock = 4096, kBlocks = 400'000, kMostBatch = 128;

double seconds(const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; }

double cpu() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + long(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Cost {
  double rate = 0, cpu_us = 0;
};

template <class Read>
Cost measured(Read read) {
  const double begun = now(), used = cpu();
  read();
  return {kBlocks / (now() - begun), (cpu() - used) / kBlocks * 1e6};
}

[[noreturn]] void fail(const char* what) {
  perror(what);
  exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: uring_reads FILE [BATCH [ROUNDS]]\n");
    return 2;
  }
  const unsigned batch = std::clamp(argc > 2 ? unsigned(atoi(argv[2])) : 8, 1u, kMostBatch);
  const int rounds = argc > 3 ? std::max(atoi(argv[3]), 1) : 15;
  const int fd = open(argv[1], O_RDONLY);
  if (fd < 0) fail(argv[1]);
  const uint64_t blocks = uint64_t(lseek(fd, 0, SEEK_END)) / kBlock;
  if (blocks == 0) return 2;
  std::vector<char> buffer(size_t(kBlock) * kMostBatch);
  std::mt19937_64 random;

  io_uring ring{};
  io_uring_params params{};
  params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  const iovec memory{buffer.data(), buffer.size()};
  if (io_uring_queue_init_params(kMostBatch, &ring, &params) != 0 || io_uring_register_files(&ring, &fd, 1) != 0 ||
      io_uring_register_buffers(&ring, &memory, 1) != 0)
    fail("io_uring");

  auto by_pread = [&] {
    for (unsigned i = 0; i < kBlocks; ++i)
      if (pread(fd, &buffer[i % batch * size_t(kBlock)], kBlock, off_t(random() % blocks * kBlock)) != kBlock) fail("pread");
  };
  auto by_uring = [&] {
    for (unsigned i = 0; i < kBlocks; i += batch) {
      for (unsigned k = 0; k < batch; ++k) {
        io_uring_sqe* const request = io_uring_get_sqe(&ring);
        io_uring_prep_read_fixed(request, 0, &buffer[k * size_t(kBlock)], kBlock, random() % blocks * kBlock, 0);
        request->flags |= IOSQE_FIXED_FILE;
      }
      if (io_uring_submit_and_wait(&ring, batch) < 0) fail("io_uring_enter");
      io_uring_cqe* done[kMostBatch];
      const unsigned count = io_uring_peek_batch_cqe(&ring, done, batch);
      for (unsigned k = 0; k < count; ++k)
        if (done[k]->res != int(kBlock)) fail("io_uring");
      io_uring_cq_advance(&ring, count);
    }
  };
  std::vector<double> rates[2], costs[2], rate_ratios, cost_ratios;
  for (int round = 0; round < rounds; ++round) {
    Cost plain, ring_cost;
    if (round % 2) ring_cost = measured(by_uring);
    plain = measured(by_pread);
    if (round % 2 == 0) ring_cost = measured(by_uring);
    rates[0].push_back(plain.rate);
    costs[0].push_back(plain.cpu_us);
    rates[1].push_back(ring_cost.rate);
    costs[1].push_back(ring_cost.cpu_us);
    rate_ratios.push_back(ring_cost.rate / plain.rate);
    cost_ratios.push_back(ring_cost.cpu_us / plain.cpu_us);
  }
  fmt::print("pread {:.0f}/s {:.2f} us, io_uring by {} {:.0f}/s {:.2f} us: rate {:.2f}, CPU {:.2f}\n", median(rates[0]),
             median(costs[0]), batch, median(rates[1]), median(costs[1]), median(rate_ratios), median(cost_ratios));
  io_uring_queue_exit(&ring);
}
