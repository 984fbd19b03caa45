// SPDX-License-Identifier: Apache-2.0
// Measures operations per second and core, and peak memory, of writing and reading a synthetic trace with 100,000 live objects.
//
//   trace_throughput [OPERATIONS] [FILE]
//
// Each step is measured in a process of its own, by processor time and peak resident size. The cost of making the operations is
// measured alone and subtracted from the writer's.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "trace/reader.hpp"
#include "trace/writer.hpp"
#include "util/units.hpp"

using namespace fsr;

constexpr size_t kObjects = 100'000;

// Files in 1,000 directories: each is seen once, then looked up, inspected, opened, read, written, closed, and sometimes
// replaced.
class Synthetic {
 public:
  Synthetic() {
    for (size_t i = 0; i < kObjects; ++i) {
      files_.push_back(
          {.object = i + 2000, .parent = i % 1000 + 2, .name = fmt::format("file-{:05}.dat", i), .size = i * 37 % 300'000});
    }
    for (ThreadId t = 0; t < 16; ++t)
      who_.push_back({.id = t + 1, .tid = 1000 + int32_t(t), .pid = 1000 + int32_t(t / 2), .ppid = 1, .command = "worker"});
    next_object_ = kObjects + 2000;
  }
  // Returns the next operation, valid until the next call.
  const Op& next() {
    op_ = {};
    op_.start = now_ += 1000 + int64_t(rng_() % 50'000);
    op_.duration = 2000 + int64_t(rng_() % 30'000);
    const uint64_t dice = rng_();
    op_.thread = uint32_t(dice % 16) + 1;
    op_.who = &who_[op_.thread - 1];
    op_.uid = op_.gid = 1000;
    if (warmed_ < kObjects) {
      op_.kind = OpKind::lookup;
      return named(files_[warmed_++]);
    }
    Open& open = opens_[op_.thread - 1];
    if (open.left == 0) {
      File& f = files_[(dice >> 8) % kObjects];
      switch (open.step++) {
        case 0:
          open.file = &f - files_.data();
          op_.kind = OpKind::lookup;
          return named(f);
        case 1:
          op_.kind = OpKind::getattr;
          op_.object = files_[open.file].object;
          return told(files_[open.file]);
        default:
          break;
      }
      if (dice >> 40 & 7) {
        op_.kind = OpKind::open;
        op_.object = files_[open.file].object;
        op_.handle = open.handle = ++next_handle_;
        open.left = 2 + (dice >> 32) % 12;
        open.offset = 0;
        open.object = op_.object;
        return op_;
      }
      open.step = 0;
      File& old = files_[open.file];
      if (old.object) {
        op_.kind = OpKind::unlink;
        op_.parent = old.parent;
        op_.name = old.name;
        op_.object = old.object;
        old.object = 0;
        open.step = 3;
        return op_;
      }
      op_.kind = OpKind::mknod;
      op_.mode = 0100644;
      old.object = next_object_++;
      old.size = 0;
      return named(old);
    }
    op_.object = open.object;
    op_.handle = open.handle;
    if (--open.left == 0) {
      op_.kind = OpKind::release;
      open.step = 0;
      return op_;
    }
    op_.kind = open.handle % 3 ? OpKind::read : OpKind::write;
    op_.offset = open.offset;
    op_.length = op_.result = 4096;
    open.offset += 4096;
    return op_;
  }

 private:
  struct File {
    ObjectId object;
    ObjectId parent;
    std::string name;
    uint64_t size;
  };
  struct Open {
    size_t file = 0;
    ObjectId object = 0;
    HandleId handle = 0;
    uint64_t left = 0, offset = 0;
    int step = 0;
  };
  const Op& named(const File& f) {
    op_.parent = f.parent;
    op_.name = f.name;
    op_.object = f.object;
    if (!f.object) {
      op_.error = 2;
      return op_;
    }
    return told(f);
  }
  const Op& told(const File& f) {
    attr_ = {.valid = kAttrMode | kAttrUid | kAttrGid | kAttrSize | kAttrNlink | kAttrMtime,
             .mode = 0100644,
             .uid = 1000,
             .gid = 1000,
             .size = f.size,
             .nlink = 1,
             .mtime = int64_t(f.object) * 1'000'000};
    if (op_.object) op_.attr = &attr_;
    return op_;
  }
  std::mt19937_64 rng_{1};
  std::vector<File> files_;
  std::vector<ThreadInfo> who_;
  Open opens_[16];
  size_t warmed_ = 0;
  HandleId next_handle_ = 0;
  ObjectId next_object_;
  int64_t now_ = 0;
  Op op_;
  Attr attr_;
};

static double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// Runs `step` in a child process. Returns its processor time and stores its peak resident bytes in `peak`.
template <class Step>
static double measured(Step step, uint64_t* peak) {
  int pipe_fd[2];
  if (pipe(pipe_fd) < 0) abort();
  pid_t pid = fork();
  if (pid == 0) {
    double start = cpu_seconds();
    step();
    double spent = cpu_seconds() - start;
    _exit(write(pipe_fd[1], &spent, sizeof spent) == sizeof spent ? 0 : 1);
  }
  close(pipe_fd[1]);
  double spent = -1;
  if (read(pipe_fd[0], &spent, sizeof spent) != sizeof spent) fmt::print(stderr, "a step failed\n");
  close(pipe_fd[0]);
  rusage usage;
  int status;
  wait4(pid, &status, 0, &usage);
  *peak = uint64_t(usage.ru_maxrss) * 1024;
  return spent;
}

static void run(uint64_t count, const std::string& path) {
  uint64_t peak_make, peak_write, peak_read;
  const double make = measured(
      [&] {
        Synthetic source;
        uint64_t sum = 0;
        for (uint64_t i = 0; i < count; ++i) sum += source.next().offset;
        if (sum == 1) fmt::print("-\n");
      },
      &peak_make);
  const double write = measured(
      [&] {
        Synthetic source;
        TraceWriter writer(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), {.clock_unit = 1});
        for (uint64_t i = 0; i < count; ++i) writer.add(source.next());
        writer.finish({.clean = true});
        fmt::print("{:>12} operations: {} in the file, {:.2f} bytes each\n", format_count(count),
                   format_size(writer.bytes_written()), double(writer.bytes_written()) / double(count));
      },
      &peak_write);
  const double read = measured(
      [&] {
        TraceReader reader(path);
        OpBatch batch;
        uint64_t seen = 0;
        while (reader.next(batch)) seen += batch.ops.size();
        if (seen != count || !reader.damage().empty()) abort();
      },
      &peak_read);
  fmt::print("{:>12} write {:.2f} Mop/s, peak {} (the source alone: {})\n", "", double(count) / (write - make) / 1e6,
             format_size(peak_write), format_size(peak_make));
  fmt::print("{:>12} read  {:.2f} Mop/s, peak {}\n", "", double(count) / read / 1e6, format_size(peak_read));
}

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  const uint64_t count = argc > 1 ? strtoull(argv[1], nullptr, 10) : 10'000'000;
  const std::string path = argc > 2 ? argv[2] : "trace_throughput.zst";
  run(count / 10, path);
  run(count, path);
  unlink(path.c_str());
}
