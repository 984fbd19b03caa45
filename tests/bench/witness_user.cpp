// SPDX-License-Identifier: Apache-2.0
// witness_user reads|calls RECORDS FILE: passes made-up records of the kernel's hooks through all that fsshim does with them,
// into the trace FILE. `reads`: of 4 KiB of one file. `calls`: those of witness_calls, in rounds. Run by `valgrind
// --tool=callgrind`; another run with RECORDS 0 is what starting takes. Always the same trace, but for its epoch and id.
#include <fcntl.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>

#include "trace_sink.hpp"
#include "util/clock_ns.hpp"
#include "witness/witness_recorder.hpp"

using namespace fsr;
using namespace fsr::shim;

namespace {

constexpr witness_place kRoot{100, 1};
constexpr int kFiles = 500;
constexpr size_t kBatch = 8192;  // records of one drain

bool g_reads = false;
size_t g_left = 0;
int64_t g_now = 0;  // start of the next record, ns
std::atomic<bool> g_ended{false};

class Source {
 public:
  const witness_record& next() {
    record_ = {};
    return timed(!g_reads ? call() : number_ == 0 ? opened(0) : read());
  }

 private:
  witness_record& timed(witness_record& r) {
    ++number_;
    r.start = uint64_t(g_now);
    r.end = r.start + 5000 + random_() % 4000;
    g_now = int64_t(r.end) + 3000 + int64_t(random_() % 1000);
    r.tid = r.pid = 1234;
    r.task_start = 1'000'000'000;
    memcpy(r.comm, "witness_calls", 14);
    return r;
  }
  witness_record& of_file(witness_kind kind, int file) {
    record_.kind = kind;
    record_.file = 0xffff888001000000 + 512 * uint64_t(file);
    record_.object = {.number = inode_ + uint64_t(file), .generation = 1, .mode = 0100644};
    return record_;
  }
  witness_record& named(witness_kind kind, int file) {
    record_.kind = kind;
    record_.layout = kWitnessShort;
    record_.object = {.number = inode_ + uint64_t(file), .size = 100, .blocks = 8, .generation = 1, .mode = 0100644, .links = 1};
    record_.parent = kRoot;
    record_.name_length = uint32_t(snprintf(text_, sizeof text_, "source_file_%04d", file));
    return record_;
  }
  witness_record& opened(int file) {
    named(kWitnessCreate, file);
    record_.object.size = record_.object.blocks = 0;
    record_.file = 0xffff888001000000 + 512 * uint64_t(file);
    record_.flags = O_CREAT | O_EXCL | O_WRONLY;
    record_.mode = 0644;
    return record_;
  }
  witness_record& read() {
    witness_record& r = of_file(kWitnessRead, 0);
    r.offset = number_ * 7919 % 256 * 4096;
    r.object.size = 1 << 20;
    r.length = 4096;
    r.result = 4096;
    return r;
  }
  witness_record& call() {
    const size_t in_round = number_ % (6 * kFiles);
    if (in_round == 0) inode_ += kFiles;
    if (in_round >= 5 * kFiles) return named(kWitnessUnlink, int(in_round) - 5 * kFiles);
    if (in_round >= 4 * kFiles) return named(kWitnessGetattr, int(in_round) - 4 * kFiles);
    const int file = int(in_round / 4);
    switch (in_round % 4) {
      case 0:
        return opened(file);
      case 1: {
        witness_record& r = of_file(kWitnessWrite, file);
        r.length = 100;
        r.result = 100;
        return r;
      }
      case 2: {
        witness_record& r = of_file(kWitnessFlush, file);
        r.owner = 0xffff888002000000;
        return r;
      }
      default:
        return of_file(kWitnessRelease, file);
    }
  }

  witness_record record_;
  char text_[kWitnessShortName];  // behind the record
  size_t number_ = 0;
  uint64_t inode_ = 1000;
  std::mt19937_64 random_{1};
};

Source g_source;

}  // namespace

// The hooks of this bench stand in place of those of the kernel.
namespace fsr::shim {

struct WitnessHooks::Loaded {
  Receiver receiver;
};
WitnessHooks::WitnessHooks(const WitnessScope&, size_t, Receiver receiver) : loaded_(new Loaded{std::move(receiver)}) {}
WitnessHooks::~WitnessHooks() = default;
void WitnessHooks::attach(const std::function<void()>&) {}
void WitnessHooks::tell_unended() {}
void WitnessHooks::detach() {}
witness_place WitnessHooks::root() const { return kRoot; }
std::array<uint64_t, kWitnessLosses> WitnessHooks::losses() const { return {}; }
bool WitnessHooks::drain() {
  size_t n = 0;
  for (; n < kBatch && g_left; ++n, --g_left) loaded_->receiver(g_source.next());
  if (g_left) return true;
  g_ended = true;
  g_ended.notify_all();
  return false;
}

}  // namespace fsr::shim

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  g_reads = std::string_view(argv[1]) == "reads";
  g_left = strtoull(argv[2], nullptr, 10);
  constexpr int64_t kLater = 3'600'000'000'000;  // ns; no block is closed for its age, so that they are the same in each run
  const int64_t epoch = clock_ns(CLOCK_MONOTONIC) + kLater;
  g_now = epoch;
  TraceSink sink(open(argv[3], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), {.clock_unit = 1}, {});
  WitnessRecorder recorder(sink, {}, 1 << 20, epoch);
  recorder.start({});
  g_ended.wait(false);
  recorder.stop("ended");
  if (!recorder.failure().empty() || recorder.late()) return 1;
  printf("%zu operations, %zu bytes\n", size_t(sink.operations()), size_t(sink.trace_bytes()));
}
