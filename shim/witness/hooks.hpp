// SPDX-License-Identifier: Apache-2.0
// The programs in the kernel that record operations: loading, attaching, and reading what they send.
//
// One thread. The programs end with this object, and with the process, however that ends.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "early_filter.hpp"
#include "witness_record.h"

namespace fsr::shim {

struct WitnessCounters {
  std::array<uint64_t, kWitnessLosses> losses{};  // operations that are not recorded, by witness_loss
  uint64_t async = 0;      // reads and writes of io_uring and aio whose ends were not seen, which are not recorded
  uint64_t mappings = 0;   // mappings of captured files, of whose loads and stores only page faults are recorded
  uint64_t crossings = 0;  // renames and links that had only one name below the directory, which are not recorded
  uint64_t others = 0;     // changes of names below the directory by what is not captured
  uint64_t faults = 0;     // page faults of captured files, at most, that are not recorded
};

// Tells whose operations are captured.
struct WitnessScope {
  pid_t command = 0;         // the captured process, in its own mount namespace; 0: all processes in that of the attaching thread
  bool everywhere = false;   // all processes, through any mount of the directory's file system, but this one and the kernel's own
  std::vector<int> cgroups;  // with everywhere: descriptors of at most kWitnessCgroups control groups to which processes belong;
                             // empty: all processes
  EarlyFilter filter;        // left out in the kernel
};

class WitnessHooks {
 public:
  using Receiver = std::function<void(const witness_record& record)>;  // the record lives for the call

  // Loads the programs. `ring_bytes`: a power of two, at least a page. Throws CaptureError, which names what is missing.
  WitnessHooks(const WitnessScope& scope, size_t ring_bytes, Receiver receiver);
  ~WitnessHooks();
  WitnessHooks(const WitnessHooks&) = delete;
  WitnessHooks& operator=(const WitnessHooks&) = delete;

  // Attaches all programs. `look`: a stat(2) by the calling thread of the captured directory, through the mount that the command
  // sees. Throws CaptureError.
  void attach(const std::function<void()>& look);
  // Before detach(): sends records of calls that have not ended (kWitnessUnended). Their usual records may follow.
  void tell_unended();
  void detach();
  uint64_t unended() const;    // after detach(): reads and writes of io_uring and aio that have not ended; before: 0
  witness_place root() const;  // the captured directory, after attach()
  // Calls the receiver for records that have come, in the order in which they were made. True: there may be more, because only so
  // many are received at a time.
  bool drain();
  WitnessCounters counters() const;  // asks the kernel for each program of page faults
  // Returns the losses in counters() without asking the kernel.
  std::array<uint64_t, kWitnessLosses> losses() const;
  std::array<uint64_t, kOpKinds> left_out() const;  // operations that the filter left out in the kernel
  // Returns how often the kernel left a program out, because that processor was in the same program already (recursion_misses of
  // linux/bpf.h). Asks the kernel once for each program. Misses at page faults are in counters().faults.
  uint64_t skipped() const;
  bool unended_known() const { return unended_known_; }  // false: the kernel did not list calls for tell_unended()
  unsigned attached() const { return attached_; }        // number of programs
  // Functions for io_uring and aio that the kernel lacks, or has by another name, so that some operations are not seen.
  const std::vector<std::string>& absent() const { return absent_; }

 private:
  struct Loaded;
  std::unique_ptr<Loaded> loaded_;
  unsigned attached_ = 0;
  std::vector<std::string> absent_;
  std::atomic<bool> detached_{false}, unended_known_{true};
};

// Returns why operations can't be recorded at the kernel's hooks here, in one line. Empty: they can be.
std::string witness_problem();

}  // namespace fsr::shim
