// SPDX-License-Identifier: Apache-2.0
// fs_work KIND DIR COUNT [THREADS]: does one kind of file-system work in the existing directory DIR and prints the seconds it
// took.
//
//   create  COUNT empty files, each opened and closed         stat    lstat() of the files that `create` made
//   unlink  removes them                                      walk    readdir and lstat of everything below DIR, COUNT times
//   write   COUNT MiB into one file, 1 MiB at a time          read    the same back
//   randwrite, randread  COUNT pieces of 4 KiB at random places of the first 64 MiB of that file
//
// THREADS threads (default 1) do it at the same time. Each creates and removes files of its own. All of them stat the files of
// the first thread and use the one big file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kMiB = 1 << 20, kPiece = 4096;
constexpr long kFileMiB = 64;  // MiB in which the random kinds choose offsets

void must(bool good, const std::string& what) {
  if (good) return;
  fprintf(stderr, "fs_work: %s: %s\n", what.c_str(), strerror(errno));
  exit(1);
}

struct Job {
  std::string dir;
  long count;
  unsigned thread;

  std::string file(long i) const { return dir + "/source_file_" + std::to_string(thread) + "_" + std::to_string(i); }
  std::string big() const { return dir + "/big_file"; }
};

void create(const Job& job) {
  for (long i = 0; i < job.count; ++i) {
    int fd = open(job.file(i).c_str(), O_CREAT | O_WRONLY | O_EXCL, 0644);
    must(fd >= 0, job.file(i));
    close(fd);
  }
}

void stat_files(const Job& job) {
  struct stat s;
  const Job first = {job.dir, job.count, 0};
  for (long i = 0; i < job.count; ++i) must(lstat(first.file(i).c_str(), &s) == 0, first.file(i));
}

void unlink_files(const Job& job) {
  for (long i = 0; i < job.count; ++i) must(unlink(job.file(i).c_str()) == 0, job.file(i));
}

void walk(const Job& job) {
  struct stat s;
  for (long round = 0; round < job.count; ++round)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(job.dir))
      must(lstat(entry.path().c_str(), &s) == 0, entry.path());
}

void sequential(const Job& job, bool writes) {
  std::vector<char> buffer(kMiB, 'x');
  int fd = open(job.big().c_str(), writes ? O_CREAT | O_WRONLY : O_RDONLY, 0644);
  must(fd >= 0, job.big());
  for (long i = 0; i < job.count; ++i) {
    ssize_t n = writes ? pwrite(fd, buffer.data(), kMiB, i % kFileMiB * off_t(kMiB))
                       : pread(fd, buffer.data(), kMiB, i % kFileMiB * off_t(kMiB));
    must(n == ssize_t(kMiB), job.big());
  }
  close(fd);
}

void random_pieces(const Job& job, bool writes) {
  std::vector<char> buffer(kPiece, 'y');
  std::minstd_rand random(job.thread + 1);
  int fd = open(job.big().c_str(), writes ? O_WRONLY : O_RDONLY);
  must(fd >= 0, job.big());
  for (long i = 0; i < job.count; ++i) {
    off_t at = off_t(random() % (kFileMiB * kMiB / kPiece)) * kPiece;
    must((writes ? pwrite(fd, buffer.data(), kPiece, at) : pread(fd, buffer.data(), kPiece, at)) == ssize_t(kPiece), job.big());
  }
  close(fd);
}

const std::map<std::string, std::function<void(const Job&)>> kKinds = {
    {"create", create},
    {"stat", stat_files},
    {"unlink", unlink_files},
    {"walk", walk},
    {"write", [](const Job& job) { sequential(job, true); }},
    {"read", [](const Job& job) { sequential(job, false); }},
    {"randwrite", [](const Job& job) { random_pieces(job, true); }},
    {"randread", [](const Job& job) { random_pieces(job, false); }},
};

}  // namespace

int main(int argc, char** argv) {
  auto kind = argc >= 4 ? kKinds.find(argv[1]) : kKinds.end();
  long count = argc >= 4 ? atol(argv[3]) : 0;
  unsigned threads = argc > 4 ? unsigned(atol(argv[4])) : 1;
  if (kind == kKinds.end() || count < 1 || threads < 1) {
    fprintf(stderr, "usage: fs_work create|stat|unlink|walk|write|read|randwrite|randread DIR COUNT [THREADS]\n");
    return 2;
  }
  auto started = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads; ++t) others.emplace_back(kind->second, Job{argv[2], count, t});
  kind->second(Job{argv[2], count, 0});
  for (std::thread& other : others) other.join();
  printf("%.9f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
  return 0;
}
