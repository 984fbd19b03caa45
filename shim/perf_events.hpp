// SPDX-License-Identifier: Apache-2.0
// Mappings and page faults of all processes of the machine, as the kernel's perf events report them.
//
// Each processor has a buffer. From open() on each mmap(2) of the machine takes 0.7 us longer. Each page fault takes 0.4 us
// longer while faults are watched. Not thread-safe, but watch() may be called beside take().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "util/unique_fd.hpp"

namespace fsr::shim {

struct PerfEvent {
  enum class Kind : uint8_t {
    mapped,    // memory, perhaps of a file (ino)
    forked,    // a process by another one
    executed,  // another program
    exited,    // a thread
    fault,     // of an address
    filled,    // pages of a file, in the course of the fault before by the same thread
    lost,      // so many events (length)
  } kind;
  bool shared = false;                           // mapped
  bool writable = false;                         // mapped
  bool store = false;                            // fault: by a store
  pid_t pid = 0, tid = 0;                        //
  pid_t parent = 0;                              // forked: process
  int64_t time = 0;                              // CLOCK_MONOTONIC, ns
  uint64_t address = 0, length = 0, offset = 0;  // bytes; offset: in the file
  uint64_t dev = 0, ino = 0;                     // of the file, as the file system itself has them
};

class PerfEvents {
 public:
  // Null, with the reason in `why`, where the kernel does not permit or have it.
  static std::unique_ptr<PerfEvents> open(std::string* why);
  ~PerfEvents();
  PerfEvents(const PerfEvents&) = delete;
  PerfEvents& operator=(const PerfEvents&) = delete;

  enum class Of : uint8_t { mappings, faults };
  // Whether events of that sort are collected from now on. At first neither is.
  void watch(Of of, bool on);
  // Until a buffer fills, `wake` is readable or the time is over. -1: no such time.
  void wait(int wake, int milliseconds);
  // Appends, in order of time, the events before the returned time, all of which have arrived. `all`: whatever is there.
  int64_t take(std::vector<PerfEvent>& events, bool all);

 private:
  struct Fields;  // where tracepoints have what is needed
  struct Buffer;  // of one processor
  PerfEvents();
  void read(Buffer& buffer);
  void parse(const char* record);

  std::unique_ptr<Fields> fields_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<PerfEvent> waiting_;  // read, and not taken yet
};

}  // namespace fsr::shim
