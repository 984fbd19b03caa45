// SPDX-License-Identifier: Apache-2.0
// Records what is read and written through mappings that are the underlying files' own, of which the kernel sends no requests.
//
// Perf events tell who maps what, and each page fault. A fault at a mapping of a captured file becomes a read of the pages that
// the kernel mapped for it. A fault by a store into a shared mapping becomes a write of its page. Both are marked as the
// kernel's, like page-ins and write-back of other mappings. A page that is mapped makes no more faults until it is written back
// or unmapped.
//
// Newer kernels name the mount that a file was mapped through. With others processes count that have opened the file through the
// capture, and their children. Events are collected while somebody
// may map such a file, faults while somebody has one mapped, and for a second after each open.
//
// Thread-safe; a thread of its own reads the events.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
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
    uint64_t underlying, mount;  // the former not always as stat(2) has it, on btrfs
  };
  // `epoch`: the trace's zero on CLOCK_MONOTONIC, ns. `lost` counts events that the kernel had no room for, and accesses that
  // could not be recorded.
  MappingRecorder(std::unique_ptr<PerfEvents> events, Shim& shim, int64_t epoch, Devices devices, std::atomic<uint64_t>& lost);
  ~MappingRecorder();
  MappingRecorder(const MappingRecorder&) = delete;
  MappingRecorder& operator=(const MappingRecorder&) = delete;

  // An open instance whose mappings are the underlying file's, before the caller gets it; and its end.
  void opened(const OpenHandle& handle);
  void closed(const OpenHandle& handle);
  // The kernel is about to forget the inode.
  void forgotten(const Inode& inode);
  // Records what has happened until now, and nothing any more. Idempotent.
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
    Key key, through;  // as the underlying file, and as that of the mount: newer kernels tell of the latter
    Inode* inode;      // valid until `gone`
    ObjectId object;
    int64_t since;            // CLOCK_MONOTONIC; what happened before is of another file with that number
    size_t inodes = 1;        // that the kernel knows it by: one for each mount
    std::vector<Open> opens;  // also closed ones, for a moment
    SharedFd fd;              // to ask for its size, once it is mapped
    bool gone = false;
  };
  using Maps = ProcessMaps<File>;
  struct Access {  // one operation that may still grow
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
  const uint64_t shown_device_;  // of the directory, as stat(2) shows it
  const Devices devices_;
  std::atomic<uint64_t>& lost_;
  const UniqueFd wake_;
  std::atomic<bool> stop_{false};

  std::mutex mutex_;  // of what follows; no file is asked for anything under it
  std::map<Key, std::shared_ptr<File>> files_;
  std::unordered_map<const Inode*, std::shared_ptr<File>> by_inode_;
  std::unordered_map<pid_t, pid_t> inside_;  // processes, with their parents
  size_t opens_ = 0;                         // open instances that are not closed
  int64_t busy_until_ = 0;                   // by opens
  bool mappings_on_ = false, faults_on_ = false, drop_gone_ = false;

  // The thread's own.
  Maps maps_;
  std::unordered_map<pid_t, Access> growing_;  // by thread
  std::vector<Access> done_;                   // of this round
  std::vector<pid_t> exited_;                  // processes, likewise
  std::vector<PerfEvent> taken_;
  Ring* ring_ = nullptr;
  std::thread thread_;
};

// The events that a capture watches. Null, with the reason in `why` if there is anything to see.
std::unique_ptr<PerfEvents> watch_faults(Mappings mappings, std::string* why);

}  // namespace fsr::shim
