// SPDX-License-Identifier: Apache-2.0
// witness_reads DIR THREADS RATE SECONDS: THREADS threads read one byte each of a file of their own in DIR, together RATE times a
// second. Prints the calls a second that were made. RATE 0: as many as possible.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

constexpr double kSlice = 1e-3;  // seconds between two bursts of calls
constexpr int kBurst = 1000;     // calls between two looks at the clock

static double now() {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

// Begins no call after `end`, however many are due by then.
static void read_often(int number, double rate, double begin, double end, long* calls) {
  const int fd = open(("rate" + std::to_string(number)).c_str(), O_CREAT | O_RDWR, 0644);
  char byte = 1;
  if (fd < 0 || pwrite(fd, &byte, 1, 0) != 1) exit(1);
  while (now() < end) {
    const double due = rate == 0 ? double(*calls) + kBurst : (now() - begin) * rate;
    for (int burst = 0; double(*calls) < due && burst < kBurst; ++burst, ++*calls)
      if (pread(fd, &byte, 1, 0) != 1) exit(1);
    if (double(*calls) < due) continue;
    if (rate != 0) std::this_thread::sleep_for(std::chrono::duration<double>(kSlice));
  }
  close(fd);
}

int main(int argc, char** argv) {
  if (argc != 5 || chdir(argv[1]) != 0) return 2;
  const int threads = atoi(argv[2]);
  const double rate = atof(argv[3]) / threads, seconds = atof(argv[4]);
  std::vector<long> calls(size_t(threads), 0);
  std::vector<std::thread> all;
  const double begin = now();
  for (int i = 0; i < threads; ++i) all.emplace_back(read_often, i, rate, begin, begin + seconds, &calls[size_t(i)]);
  for (std::thread& thread : all) thread.join();
  const double took = now() - begin;
  long sum = 0;
  for (const long n : calls) sum += n;
  printf("%.0f\n", double(sum) / took);
}
