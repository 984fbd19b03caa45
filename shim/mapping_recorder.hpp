// SPDX-License-Identifier: Apache-2.0
// Records reads and writes through mappings that go directly to the underlying files, because the kernel sends no requests for
// them.
//
// Perf events report each mapping and each page fault. A fault at a mapping of a captured file becomes a read of the pages that
// the kernel mapped for it. A fault by a store into a shared mapping becomes a write of its page. Both are marked as the
// kernel's, like page-ins and write-back of other mappings. A mapped page causes no more faults until it is written back or
// unmapped.
//
// Newer kernels report the mount that a file was mapped through. On older ones, only mappings by processes that have opened files
// through the capture, and by their children, are recorded. Mappings are watched while such a file is open. Faults are watched
// while one is mapped, and for a second after each open.
//
// Thread-safe. A thread of its own reads the events.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "backing_state.hpp"
#include "op.hpp"
#include "perf_events.hpp"
#include "process_maps.hpp"
#include "util/unique_fd.hpp"

namespace fsr::shim {

struct Inode;
struct OpenHandle;
struct Shim;
class Ring;

class MappingRecorder {
 public:
  struct Devices {
    uint64_t underlying, mount;  // `underlying` may differ from that of stat(2), on btrfs
  };
  // `epoch`: time 0 of the trace on CLOCK_MONOTONIC, ns. `lost`: counts events for which the kernel had no room, and accesses
  // that could not be recorded.
  MappingRecorder(std::unique_ptr<PerfEvents> events, Shim& shim, int64_t epoch, Devices devices, std::atomic<uint64_t>& lost);
  ~MappingRecorder();
  MappingRecorder(const MappingRecorder&) = delete;
  MappingRecorder& operator=(const MappingRecorder&) = delete;

  // Called for an open instance whose mappings go directly to the underlying file: before the caller gets it, and at its end.
  // The end comes before the release starts, because no later access may name the open instance. Repeated calls have no effect.
  void opened(const OpenHandle& handle);
  void closed(const OpenHandle& handle);
  // Called before the kernel forgets the inode.
  void forgotten(const Inode& inode);
  // Records the events until now, then ends the recording. Idempotent.
  void stop();

 private:
  using Key = std::pair<uint64_t, uint64_t>;  // device and number
  struct Open {
    HandleId id;
    pid_t pid;
    bool writes;
    uint32_t uid, gid;
    int64_t from, to;  // CLOCK_MONOTONIC
  };
  struct File {
    Key key, through;  // file on the underlying device; file on the mount's device, which newer kernels report
    Inode* inode;      // valid until `gone`
    ObjectId object;
    int64_t since;            // CLOCK_MONOTONIC; earlier events are of another file with the same number
    size_t inodes = 1;        // number of inodes that the kernel has for it: one for each mount
    std::vector<Open> opens;  // includes closed ones for a second
    SharedFd fd;              // descriptor for asking its size; of the last kMostFds files with a recorded access
    bool gone = false;
  };
  using Maps = ProcessMaps<File>;
  struct Access {  // a read or write that later faults may extend
    std::shared_ptr<File> file;
    bool store = false;
    pid_t pid = 0, tid = 0;
    uint64_t offset = 0, end = 0;
    int64_t first = 0, last = 0;
  };

  void run();
  void round(bool last);
  void handle(const PerfEvent& event);
  void mapped(const PerfEvent& event);
  void fault(const PerfEvent& event);
  void filled(const PerfEvent& event);
  SharedFd size_fd(const std::shared_ptr<File>& file);
  void record(const Access& access);
  void rest(int64_t now);

  const std::unique_ptr<PerfEvents> events_;
  Shim& shim_;
  const int64_t epoch_;
  const uint64_t shown_device_;  // device of the directory, as returned by stat(2)
  const Devices devices_;
  std::atomic<uint64_t>& lost_;
  const UniqueFd wake_;
  std::atomic<bool> stop_{false};

  std::mutex mutex_;  // protects the members below; no file is accessed while it is held
  std::map<Key, std::shared_ptr<File>> files_;
  std::unordered_map<const Inode*, std::shared_ptr<File>> by_inode_;
  std::deque<std::shared_ptr<File>> with_fd_;
  std::unordered_map<pid_t, pid_t> inside_;  // processes that use the capture, with their parents
  size_t opens_ = 0;                         // open instances that are not closed
  int64_t busy_until_ = 0;                   // until a second after the last open
  bool mappings_on_ = false, faults_on_ = false, drop_gone_ = false;

  // Used by the recorder's thread only.
  Maps maps_;
  std::unordered_map<pid_t, Access> growing_;  // by thread
  std::vector<Access> done_;                   // finished accesses of this round
  std::vector<pid_t> exited_;                  // processes that ended in this round
  std::vector<PerfEvent> taken_;
  Ring* ring_ = nullptr;
  std::thread thread_;
};

// Opens the events for a capture. Null: not needed, or not possible, with the reason in `why`.
std::unique_ptr<PerfEvents> watch_faults(Mappings mappings, std::string* why);

}  // namespace fsr::shim
