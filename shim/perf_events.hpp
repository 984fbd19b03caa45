// SPDX-License-Identifier: Apache-2.0
// Reads mappings and page faults of all processes of the machine from the kernel's perf events.
//
// Each processor has a buffer. From open() on, each mmap(2) of the machine takes 0.7 us longer. Each page fault takes 0.4 us
// longer while faults are watched. Not thread-safe, but watch() and take() may be called at the same time.
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
    mapped,    // a process mapped memory; ino is not 0: a file
    forked,    // a process or thread started another one
    executed,  // a process executed another program
    exited,    // a thread ended
    fault,     // a page fault at an address
    filled,    // the kernel mapped pages of a file, during the thread's last fault
    lost,      // the kernel dropped `length` events
  } kind;
  bool shared = false;                           // mapped: with MAP_SHARED
  bool writable = false;                         // mapped: with PROT_WRITE
  bool store = false;                            // fault: caused by a store
  pid_t pid = 0, tid = 0;                        //
  pid_t parent = 0;                              // forked: the parent process
  int64_t time = 0;                              // CLOCK_MONOTONIC, ns
  uint64_t address = 0, length = 0, offset = 0;  // bytes; offset: position in the file
  uint64_t dev = 0, ino = 0;                     // numbers of the file within its file system, which stat(2) may not return
};

class PerfEvents {
 public:
  // Opens the events. Null: the kernel does not permit or support them, with the reason in `why`.
  static std::unique_ptr<PerfEvents> open(std::string* why);
  ~PerfEvents();
  PerfEvents(const PerfEvents&) = delete;
  PerfEvents& operator=(const PerfEvents&) = delete;

  enum class Of : uint8_t { mappings, faults };
  // Starts or stops collecting events of that kind. At first, no kind is collected.
  void watch(Of of, bool on);
  // Waits until a buffer fills, `wake` is readable or the time is over. `milliseconds`: -1: no limit.
  void wait(int wake, int milliseconds);
  // Appends the events before the returned time to `events`, in the order of time. All earlier events have arrived. `all`:
  // appends all events that have arrived.
  int64_t take(std::vector<PerfEvent>& events, bool all);

 private:
  struct Fields;  // positions of the needed fields in records of tracepoints
  struct Buffer;  // the buffer of one processor
  PerfEvents();
  void read(Buffer& buffer);
  void parse(const char* record);

  std::unique_ptr<Fields> fields_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<PerfEvent> waiting_;  // events that were read and not taken yet
};

}  // namespace fsr::shim
