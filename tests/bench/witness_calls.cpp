// SPDX-License-Identifier: Apache-2.0
// witness_calls DIR SECONDS: makes calls of one kind after the other in DIR, each for that long, and prints "KIND NS" per call.
// DIR is empty. A round is longer than what a recorder may leave for later.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

constexpr int kFiles = 500, kBlock = 4096;

static double now() {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
}

static char name[32], block[1 << 20];
static const char* file(int i) {
  snprintf(name, sizeof name, "source_file_%04d", i);
  return name;
}

static int must(int result) {
  if (result < 0) {
    perror("witness_calls");
    exit(1);
  }
  return result;
}

int main(int argc, char** argv) {
  if (argc != 3 || chdir(argv[1]) != 0) return 2;
  const double span = atof(argv[2]) * 1e9;
  struct stat s;
  double create = 0, stated = 0, removed = 0;
  long rounds = 0;
  for (const double begin = now(); now() - begin < 3 * span; ++rounds) {
    double t = now();
    for (int i = 0; i < kFiles; ++i) {
      const int fd = must(open(file(i), O_CREAT | O_EXCL | O_WRONLY, 0644));
      must(int(write(fd, block, 100)));
      close(fd);
    }
    create += now() - t, t = now();
    for (int i = 0; i < kFiles; ++i) must(stat(file(i), &s));
    stated += now() - t, t = now();
    for (int i = 0; i < kFiles; ++i) must(unlink(file(i)));
    removed += now() - t;
  }
  printf("create_write_close %.0f\nstat %.0f\nunlink %.0f\n", create / double(rounds * kFiles), stated / double(rounds * kFiles),
         removed / double(rounds * kFiles));
  const int fd = must(open("data", O_CREAT | O_RDWR, 0644));
  must(int(write(fd, block, sizeof block)));
  long calls = 0;
  double t = now();
  for (; now() - t < span; ++calls) must(int(pread(fd, block, kBlock, (calls * 7919 % 256) * kBlock)));
  printf("read_4k %.0f\n", (now() - t) / double(calls));
  calls = 0, t = now();
  for (; now() - t < span; ++calls) must(int(pwrite(fd, block, sizeof block, 0)));
  printf("write_1m %.0f\n", (now() - t) / double(calls));
  return 0;
}
