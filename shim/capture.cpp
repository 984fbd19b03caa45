// SPDX-License-Identifier: Apache-2.0
// fsshim capture DIR [-- COMMAND...]
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "abort.hpp"
#include "awake.hpp"
#include "capture_error.hpp"
#include "capture_loop.hpp"
#include "capture_mount.hpp"
#include "capture_notices.hpp"
#include "capture_setup.hpp"
#include "capture_summary.hpp"
#include "subcommands.hpp"
#include "util/clock_ns.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

// Returns a descriptor for open_by_handle_at(). -1: the file system may give two files the same handle.
int handle_descriptor(int root) {
  struct statfs fs;
  if (geteuid() != 0 || fstatfs(root, &fs) != 0) return -1;
  switch (fs.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
      return openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    default:
      return -1;
  }
}

EntryCache::Settings cache_settings(const CaptureOptions& options, const std::string& directory, const CapturedCommand* command) {
  EntryCache::Settings settings;
  settings.mode = options.cache;
  // Other processes see the directory itself and may change it while the command runs.
  if (command) settings.keep_ns /= 10;
  std::string process = command ? std::to_string(command->pid()) : "self";
  settings.mounted_inside = [directory, process] { return is_mounted_on(directory, process); };
  return settings;
}

void summary(const TraceSink& sink, const Recorder& recorder, const CaptureOutput& output, bool verbose) {
  print_summary(sink, output, recorder.dropped() + recorder.unrecorded() + sink.lost(), recorder.waited(), verbose);
  if (const int64_t time = recorder.ring_time(); verbose && time >= 0)
    dprintf(STDERR_FILENO, "fsshim: at the highest load of this capture, %s/s, the rings (%s) are full after %s\n",
            format_size(recorder.ring_load()).c_str(), format_size(recorder.ring_bytes()).c_str(), format_duration(time).c_str());
}

class Capture {
 public:
  explicit Capture(CaptureOptions& options);  // mounts and starts recording; a command still waits. Throws CaptureError
  int run();                                  // returns the exit status

 private:
  SinkOptions sink_options(OpFilter& filter);
  std::unique_ptr<MappingRecorder> record_mappings();
  int64_t begin_trace();
  void begin();
  std::vector<std::string> look(bool closed, int64_t now);
  void close_trace(const std::string& reason);
  [[noreturn]] void give_up();

  CaptureSetup setup_;
  const std::unique_ptr<Awake> awake_;  // null: processors may sleep
  CaptureMount mount_;
  const UniqueFd by_handle_;
  InodeTable inodes_;
  MountWatch watch_;
  std::atomic<uint64_t> lost_faults_{0};  // not reported in a closing statement yet
  const int64_t epoch_;                   // time 0 of the trace on CLOCK_MONOTONIC, ns
  TraceSink sink_;
  Recorder recorder_;
  Shim shim_;
  std::unique_ptr<MappingRecorder> mapping_recorder_;
  FuseSession session_;
  CaptureNotices notices_;
  std::string failure_;  // why the trace is not complete; empty: it is
};

Capture::Capture(CaptureOptions& options)
    : setup_(options),
      awake_(options.awake ? std::make_unique<Awake>() : nullptr),
      mount_(setup_),
      by_handle_(handle_descriptor(setup_.captured.root.get())),
      inodes_(setup_.captured.root.get(), by_handle_.get(), descriptor_budget()),
      watch_(setup_.directory(), mount_.process(), [this](unsigned long flags) { return mount_.restrict(flags); }),
      epoch_(begin_trace()),
      sink_(setup_.output.take_trace_fd(), setup_.header, sink_options(options.filter)),
      recorder_(sink_, setup_.rings, epoch_, options.drop ? Overflow::drop : Overflow::wait),
      shim_(recorder_, inodes_, mount_.proc_fd(), options.content, cache_settings(options, setup_.directory(), mount_.command()),
            options.kernel_checks, setup_.mappings.how, setup_.page_bases, descriptor_limits(), setup_.thread_limits),
      mapping_recorder_(record_mappings()),
      session_(shim_, mount_.take_fuse_fd(), options.uring),
      notices_(setup_, mount_, watch_, shim_, session_) {
  shim_.page_drops = mount_.page_drops();
  shim_.mapping_recorder = mapping_recorder_.get();
  shim_.processes.ask_start = [this](pid_t tid) { mount_.start_times().ask(tid); };
  if (setup_.over_mount())
    shim_.strangers.give_back = [this] { return shim_.processes_keeping_pages().empty() && mount_.detach().empty(); };
  session_.start();
  if (options.uring && !session_.over_uring())
    throw CaptureError("FUSE over io_uring could not be started; give --transport dev");
}

// Returns time 0 of the trace. No thread that serves or records has been started yet.
int64_t Capture::begin_trace() {
  resist_memory_pressure();
  setup_.header.epoch = clock_ns(CLOCK_REALTIME);
  return setup_.header.monotonic = clock_ns(CLOCK_MONOTONIC);
}

SinkOptions Capture::sink_options(OpFilter& filter) {
  auto close = [this](TraceClosing& closing) {
    MountWatch::MountReport report = watch_.report();
    closing.mounts_below = std::move(report.below);
    closing.not_seen = std::move(report.not_seen);
    if (const uint64_t lost = lost_faults_.exchange(0))
      closing.not_seen.push_back(format_count(lost) + " lost events of page faults and mappings");
  };
  return {.max_bytes = setup_.options.max_size,
          .max_time = setup_.options.max_time,
          .rotate_bytes = setup_.options.rotate,
          .stream = setup_.output.is_stream(),
          .block_time = setup_.options.block_time,
          .keep = setup_.options.keep,
          .filter = filter.empty() ? nullptr : &filter,
          .pieces = &setup_.output,
          .nfs_counters = [point = setup_.captured.below.point] { return nfs_counters_of(point); },
          .mounted_meanwhile = close};
}

std::unique_ptr<MappingRecorder> Capture::record_mappings() {
  if (!setup_.mappings.faults) return nullptr;
  return std::make_unique<MappingRecorder>(std::move(setup_.mappings.faults), shim_, epoch_,
                                           MappingRecorder::Devices{setup_.captured.below.dev, mount_.device()}, lost_faults_);
}

// Lets the command go, and says that the capture has begun.
void Capture::begin() {
  if (CapturedCommand* command = mount_.command()) {
    // In a user namespace the kernel refuses to write into a directory whose owner it does not know yet.
    if (!setup_.root_user) command->look_at(setup_.directory());
    command->go();
  }
  setup_.output.keep();
  if (setup_.parent) setup_.parent->ready(setup_.directory(), setup_.output);
  notify_service_manager("READY=1");
  if (!setup_.options.verbose) return;
  dprintf(STDERR_FILENO, "fsshim: capturing %s (%s), requests by %s, trace %s\n", escape_text(setup_.directory()).c_str(),
          setup_.captured.below.type.c_str(), setup_.header.transport.c_str(), escape_text(setup_.output.trace()).c_str());
  dprintf(STDERR_FILENO,
          "fsshim: syncfs(2) (sync -f) has no effect in the captured directory, because the kernel does not pass syncfs on to "
          "fsshim; use fsync or sync\n");
}

// Returns lines for the user. Called a few times a second.
std::vector<std::string> Capture::look(bool closed, int64_t now) {
  if (awake_) awake_->look(sink_.operations() + sink_.filtered(), now);
  return notices_.look(closed, now);
}

void Capture::close_trace(const std::string& reason) {
  if (mapping_recorder_) mapping_recorder_->stop();
  recorder_.stop(reason);
  failure_ = recorder_.failure();
  if (failure_.empty() && recorder_.dropped() != 0) failure_ = format_count(recorder_.dropped()) + " operations were dropped";
  if (failure_.empty() && !sink_.rotation_failure().empty()) failure_ = "rotation failed: " + sink_.rotation_failure();
  if (failure_.empty() && sink_.removed()) failure_ = "removed during the capture";
  try {
    setup_.output.write_mix(sink_.by_kind());
  } catch (const std::exception& e) {
    if (failure_.empty()) failure_ = e.what();
  }
  summary(sink_, recorder_, setup_.output, setup_.options.verbose);
}

// Ends the process. A thread that waits for a dead disk keeps it from ending. So the connection is aborted first; no application
// then waits for this process.
void Capture::give_up() {
  if (!session_.ended()) abort_connection(mount_.connection());
  forget_capture(getpid());
  _exit(1);
}

int Capture::run() {
  begin();
  CaptureLoop loop({session_, recorder_, sink_, shim_, setup_.control, mount_.command(), [this] { return mount_.detach(); },
                    [this](const std::string& reason) { close_trace(reason); }, [this] { give_up(); }, setup_.fields,
                    notices_.stalls(), [this](bool closed, int64_t now) { return look(closed, now); }, watch_.changes_fd()});
  int status = loop.run();
  if (awake_)
    dprintf(STDERR_FILENO, "fsshim: processors were kept from sleeping for %s of %s\n",
            format_duration(awake_->total(recorder_.now())).c_str(), format_duration(recorder_.now()).c_str());
  if ((notices_.aborted() || shim_.strangers.came()) && status == 0) status = 1;
  if (!failure_.empty()) {
    dprintf(STDERR_FILENO, "fsshim: %s: not complete: %s\n", escape_text(setup_.output.trace()).c_str(),
            escape_text(failure_).c_str());
    if (status == 0) status = 1;
  }
  if (!session_.stop()) {
    dprintf(STDERR_FILENO, "fsshim: lock requests still wait in the underlying file system; fsshim ends without their replies\n");
    forget_capture(getpid());
    _exit(status);
  }
  return status;
}

}  // namespace

int run_capture(CaptureOptions& options) { return Capture(options).run(); }

}  // namespace fsr::shim
