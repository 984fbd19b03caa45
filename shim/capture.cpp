// SPDX-License-Identifier: Apache-2.0
// fsshim capture DIR [-- COMMAND...]
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "abort.hpp"
#include "background.hpp"
#include "backing.hpp"
#include "capture_error.hpp"
#include "capture_loop.hpp"
#include "captured_directory.hpp"
#include "connection.hpp"
#include "mapping_recorder.hpp"
#include "mount.hpp"
#include "mount_watch.hpp"
#include "output.hpp"
#include "page_drops.hpp"
#include "process_limits.hpp"
#include "start_times.hpp"
#include "subcommands.hpp"
#include "trace_header.hpp"
#include "unread_programs.hpp"
#include "util/clock_ns.hpp"
#include "util/memory.hpp"
#include "util/unique_fd.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

// Bytes of the rings before a load is known: for 100,000 operations a second, more than two processors serve.
constexpr size_t kExpectedLoad = 32 << 20;
constexpr size_t kContentChunk = 8 << 20;  // holds several of the largest requests with their content, 1.1 MiB

constexpr size_t kPageBases = 64 << 20;  // bytes of pages that are mapped through FUSE

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

RingSize ring_size(const CaptureOptions& options) {
  RingSize size{.time = options.ring};
  if (options.content == Content::full) size.chunk = kContentChunk;
  size.limit = memory_budget() / 4;
  size.start = std::min(size_t(double(kExpectedLoad) * double(options.ring) / 1e9), size.limit);
  return size;
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

// Takes the mount away when the start fails after it was made.
class MountGuard {
 public:
  explicit MountGuard(const MountPathHandle& way) : way_(way) {}
  ~MountGuard() { release(); }
  MountGuard(const MountGuard&) = delete;
  MountGuard& operator=(const MountGuard&) = delete;
  void made(const OwnMount& mount) { mount_ = mount; }
  std::string release() { return mount_.dev ? take_away(mount_, &way_) : std::string(); }  // empty, or why it is still there

 private:
  const MountPathHandle& way_;
  OwnMount mount_;
};

void summary(const TraceSink& sink, const Recorder& recorder, const CaptureOutput& output, bool verbose) {
  uint64_t operations = sink.operations(), bytes = sink.trace_bytes();
  std::string more;
  if (sink.piece() > 1) more += " in " + std::to_string(sink.piece()) + " pieces";
  if (sink.filtered()) more += ", " + format_count(sink.filtered()) + " filtered out";
  dprintf(
      STDERR_FILENO, "fsshim: %s operations in %s -> %s (%s, %.1f bytes per operation)%s, %s not recorded, %s waits for memory\n",
      format_count(operations).c_str(), format_duration(sink.end()).c_str(), escape_text(output.trace()).c_str(),
      format_size(bytes).c_str(), operations ? double(bytes) / double(operations) : 0.0, more.c_str(),
      format_count(recorder.dropped() + recorder.unrecorded() + sink.lost()).c_str(), format_count(recorder.waited()).c_str());
  for (unsigned kind = 0; verbose && kind < kOpKinds; ++kind)
    if (uint64_t n = sink.by_kind()[kind])
      dprintf(STDERR_FILENO, "fsshim: %12s %s\n", format_count(n).c_str(), op_name(OpKind(kind)));
  if (const int64_t time = recorder.ring_time(); verbose && time >= 0)
    dprintf(STDERR_FILENO, "fsshim: rings of %s hold %s/s, the highest load, for %s\n",
            format_size(recorder.ring_bytes()).c_str(), format_size(recorder.ring_load()).c_str(), format_duration(time).c_str());
}

}  // namespace

int run_capture(CaptureOptions& options) {
  if (options.background && !options.command.empty())
    throw CaptureError(
        "--background: not possible with a command, because fsshim waits for the command; leave --background or the command out");
  std::unique_ptr<Background> parent;
  if (options.background) parent = std::make_unique<Background>();
  const bool root_user = geteuid() == 0, in_namespace = !options.command.empty();
  const ProcessSettings original = leave_surroundings();
  // All three read /sys/fs/cgroup, which may lie below the directory: once that is mounted over, the read would wait for this
  // process.
  const RingSize rings = ring_size(options);
  const UserShares::Limits thread_limits = waiting_limits();
  const size_t page_bases = std::min(kPageBases, memory_budget() / 16);
  const CapturedDirectory captured = find_captured(options);
  const std::string& directory = captured.path;
  const MountPathHandle way(captured.root.get());
  CaptureOutput output(options.output, directory, captured.root.get(), options.rotate != 0, options.background);
  std::string why_seen;
  const Mappings mappings = choose_mappings(options, captured.below.type, &why_seen);
  std::string why_no_faults;
  std::unique_ptr<PerfEvents> faults = watch_faults(mappings, &why_no_faults);
  TraceHeader header = describe(options, directory, captured.below, mappings_text(mappings, why_seen, why_no_faults));
  report_limits(captured, header, options.force ? "" : why_seen);
  if (mappings != Mappings::kSeen) want_backing_files(stack_depth(captured.below.type));
  ControlFields fields{{"directory", directory}, {"trace", output.full_name()}, {"command", header.command}};
  ControlServer control(fields);
  std::unique_ptr<Watcher> watcher;
  if (!in_namespace) {
    watcher = std::make_unique<Watcher>(way, directory, output.log_fd());
    // Stopped by ^Z, it would hang every application below the directory, the shell perhaps among them.
    for (int number : {SIGTSTP, SIGTTIN, SIGTTOU}) signal(number, SIG_IGN);
  }

  StartTimes start_times;
  UniqueFd fuse(open_fuse_device());
  std::unique_ptr<PageDrops> page_drops;
  if (mappings != Mappings::kSeen) page_drops = std::make_unique<PageDrops>(fuse.get());
  UniqueFd proc(open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!proc) throw failed("/proc/self/fd", errno);
  MountGuard mount(way);
  std::unique_ptr<CapturedCommand> command;
  if (!in_namespace) {
    const UniqueFd alone = lock_starts();
    refuse_captured(way, directory);
    const OwnMount made = mount_over(captured.root.get(), fuse.get(), directory, options.kernel_checks);
    mount.made(made);
    watcher->arm(made);
    fields["device"] = std::to_string(made.dev);
  }
  if (in_namespace)
    command = std::make_unique<CapturedCommand>(options.command, original, [&] {
      // The command has a namespace of its own even without root, where this process is in a private one already. So the mount
      // ends with the last process in it.
      enter_private_namespace(false);
      UniqueFd here(open_directory(directory));
      same_directory_or_fail(here.get(), captured.root.get(), directory);
      mount_over(here.get(), fuse.get(), directory, options.kernel_checks);
    });

  UniqueFd by_handle(handle_descriptor(captured.root.get()));
  InodeTable inodes(captured.root.get(), by_handle.get(), descriptor_budget());
  const bool other_namespace = bool(command);
  const std::optional<MountEntry> its_mount =
      other_namespace ? mount_of_source(directory, std::to_string(command->pid())) : std::nullopt;
  if (other_namespace && !its_mount)
    throw CaptureError(directory + ": the command's process ended before the command could start");
  const std::optional<MountEntry> mounted = other_namespace ? its_mount : mount_of_source(directory);
  const unsigned connection = mounted ? minor(mounted->dev) : 0;
  control.set_field("connection", std::to_string(connection));
  if (page_drops) page_drops->connection(connection);
  MountWatch watch(directory, other_namespace ? std::to_string(command->pid()) : "", [&](unsigned long flags) {
    auto act = [&] { return restrict_mount(directory, flags); };
    return other_namespace ? act_where_mounted(own_mount(*its_mount), act) : act();
  });
  resist_memory_pressure();
  header.epoch = clock_ns(CLOCK_REALTIME);
  const int64_t epoch = clock_ns(CLOCK_MONOTONIC);
  std::atomic<uint64_t> lost_faults{0};  // not reported in a closing statement yet
  TraceSink sink(output.take_trace_fd(), header,
                 {.max_bytes = options.max_size,
                  .max_time = options.max_time,
                  .rotate_bytes = options.rotate,
                  .keep = options.keep,
                  .filter = options.filter.empty() ? nullptr : &options.filter,
                  .pieces = &output,
                  .nfs_counters = [point = captured.below.point] { return nfs_counters_of(point); },
                  .mounted_meanwhile =
                      [&watch, &lost_faults](TraceClosing& closing) {
                        MountWatch::MountReport report = watch.report();
                        closing.mounts_below = std::move(report.below);
                        closing.not_seen = std::move(report.not_seen);
                        if (const uint64_t lost = lost_faults.exchange(0))
                          closing.not_seen.push_back(format_count(lost) + " lost events of page faults and mappings");
                      }});
  Recorder recorder(sink, rings, epoch, options.drop ? Overflow::drop : Overflow::wait);
  Shim shim(recorder, inodes, proc.get(), options.content, cache_settings(options, directory, command.get()),
            options.kernel_checks, mappings, page_bases, descriptor_limits(), thread_limits);
  shim.page_drops = page_drops.get();
  std::unique_ptr<MappingRecorder> mapping_recorder;
  if (faults)
    mapping_recorder = std::make_unique<MappingRecorder>(
        std::move(faults), shim, epoch, MappingRecorder::Devices{captured.below.dev, mounted ? mounted->dev : 0}, lost_faults);
  shim.mapping_recorder = mapping_recorder.get();
  shim.processes.ask_start = [&start_times](pid_t tid) { start_times.ask(tid); };
  FuseSession session(shim, fuse.release(), options.uring);
  session.start();
  if (options.uring && !session.over_uring()) throw CaptureError("FUSE over io_uring could not be started; give --transport dev");
  // In a user namespace the kernel refuses to write into a directory whose owner it does not know yet.
  if (!root_user) command->look_at(directory);
  if (command) command->go();
  output.keep();
  if (parent) parent->ready(directory, output);
  notify_service_manager("READY=1");
  if (options.verbose) {
    dprintf(STDERR_FILENO, "fsshim: capturing %s (%s) over %s into %s\n", escape_text(directory).c_str(),
            captured.below.type.c_str(), header.transport.c_str(), escape_text(output.trace()).c_str());
    dprintf(
        STDERR_FILENO,
        "fsshim: syncfs(2) (sync -f) writes nothing back there, because the kernel does not pass syncfs on; use fsync or sync\n");
  }

  auto detach = [&]() -> std::string {
    if (!other_namespace) return mount.release();
    const OwnMount own = own_mount(*its_mount);
    act_where_mounted(own, [&] { return take_away(own).empty(); });
    return {};
  };
  std::string failure;
  auto close_all = [&](const std::string& reason) {
    if (mapping_recorder) mapping_recorder->stop();
    recorder.stop(reason);
    failure = recorder.failure();
    if (failure.empty() && recorder.dropped() != 0) failure = format_count(recorder.dropped()) + " operations were dropped";
    if (failure.empty() && !sink.rotation_failure().empty()) failure = "rotation failed: " + sink.rotation_failure();
    if (failure.empty() && sink.removed()) failure = "removed during the capture";
    try {
      output.write_mix(sink.by_kind());
    } catch (const std::exception& e) {
      if (failure.empty()) failure = e.what();
    }
    summary(sink, recorder, output, options.verbose);
  };
  // A thread that waits for a dead disk keeps the process from ending. So the connection is aborted first; no application then
  // waits for this process.
  auto give_up = [&] {
    if (!session.ended()) abort_connection(connection);
    forget_capture(getpid());
    _exit(1);
  };
  StallWatch stalls(options.stall);
  bool aborted = false, reported_end = false, reported_mappings = false, reported_bases = false, reported_fills = false,
       reported_lost = false, reported_unread = false;
  auto news = [&](bool trace_closed, int64_t now) {
    // The kernel may reuse the connection's number from now on.
    if (session.ended() && !std::exchange(reported_end, true)) control.set_field("connection", "");
    std::vector<std::string> lines = stalls.look(coarse_now());
    if (options.abort_stalled && stalls.own_fault() && !std::exchange(aborted, true)) {
      const ReservedDescriptors reserved;
      const int error = abort_connection(connection);
      lines.push_back(error == 0 ? "connection aborted: applications get errors instead of waiting"
                                 : std::string("connection not aborted: ") + strerror(error));
    }
    if (const int error = shim.backings.refused(); error != 0 && !std::exchange(reported_mappings, true))
      lines.push_back(
          std::string("mappings of some files do not agree with changes by others, because the kernel refuses passthrough: ") +
          strerror(error));
    if (shim.page_bases.missing() != 0 && !std::exchange(reported_bases, true))
      lines.push_back("pages of mappings are written back as a whole, because the mapped pages exceed " +
                      format_size(kPageBases) + ": what others write to such a page may be lost");
    if (g_unread_program_ran && !std::exchange(reported_unread, true))
      lines.push_back(
          "a user executed a program that the user may not read, and can read it in /proc/PID/mem while it runs: "
          "--permissions kernel prevents that");
    if (page_drops && page_drops->used() && !std::exchange(reported_fills, true))
      lines.push_back(
          "sendfile or splice is in use: either may send bytes that were replaced milliseconds ago; only reads that fill pages "
          "are recorded");
    if (page_drops && page_drops->lost() && !std::exchange(reported_lost, true))
      lines.push_back(
          "pages that sendfile and splice read stay cached from now on, because the process that drops them ended or was "
          "stopped");
    if (trace_closed) return lines;
    start_times.take([&shim](pid_t tid, uint64_t ticks) { shim.processes.started(tid, ticks); });
    for (std::string& line : watch.look(now)) lines.push_back(std::move(line));
    return lines;
  };
  CaptureLoop loop({session, recorder, sink, shim, control, command.get(), detach, close_all, give_up, fields, stalls, news,
                    watch.changes_fd()});
  int status = loop.run();
  if (aborted && status == 0) status = 1;
  if (!failure.empty()) {
    dprintf(STDERR_FILENO, "fsshim: %s: not complete: %s\n", escape_text(output.trace()).c_str(), escape_text(failure).c_str());
    if (status == 0) status = 1;
  }
  if (!session.stop()) {
    dprintf(STDERR_FILENO,
            "fsshim: the underlying file system does not return lock requests; fsshim ends without waiting for them\n");
    forget_capture(getpid());
    _exit(status);
  }
  return status;
}

}  // namespace fsr::shim
