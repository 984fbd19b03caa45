// SPDX-License-Identifier: Apache-2.0
// fsshim capture DIR [-- COMMAND...]
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <utility>

#include "abort.hpp"
#include "background.hpp"
#include "bound_sockets.hpp"
#include "capture_loop.hpp"
#include "fail.hpp"
#include "lies_in.hpp"
#include "mount.hpp"
#include "mount_watch.hpp"
#include "not_seen.hpp"
#include "output.hpp"
#include "start_times.hpp"
#include "subcommands.hpp"
#include "util/memory.hpp"
#include "util/unique_fd.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

// Of the rings, before a load is known: 100,000 operations a second, more than two processors serve.
constexpr size_t kExpectedLoad = 32 << 20;
constexpr size_t kContentChunk = 8 << 20;  // holds several of the largest requests with their content, 1.1 MiB

int64_t clock_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

std::string absolute(const std::string& directory) {
  char resolved[PATH_MAX];
  if (is_dead_mount(directory))
    throw Fail(directory + ": left behind by a capture that died; run 'fsshim stop " + directory + "'");
  if (!realpath(directory.c_str(), resolved)) throw failed(directory, errno);
  return resolved;
}

int open_directory(const std::string& directory) {
  int fd = open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw failed(directory, errno);
  return fd;
}

// Directories that a capture itself needs, by their paths, in order to serve.
void refuse_needed(const std::string& directory, int root, const std::string& type, bool over_mount) {
  if (directory == "/")
    throw Fail(
        "/: can't be captured: running programs would not see it, and its trace would lie inside; capture directories in it");
  if (type == "proc") throw Fail(directory + ": can't be captured: what it shows depends on the process that asks");
  const std::string control = control_directory(true);
  const UniqueFd sockets(open(control.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (over_mount && sockets && lies_in(sockets.get(), root))
    throw Fail(directory + ": can't be captured: nobody could reach the sockets in " + control + "; capture directories in it");
}

void same_directory_or_fail(int a, int b, const std::string& directory) {
  struct stat one, other;
  if (fstat(a, &one) != 0 || fstat(b, &other) != 0 || one.st_dev != other.st_dev || one.st_ino != other.st_ino)
    throw Fail(directory + ": changed while the capture started");
}

Surroundings leave_surroundings() {
  Surroundings original{.signals = block_signals()};
  original.umask = umask(0);
  auto raise = [](auto resource, rlim_t most, rlimit* before) {
    getrlimit(resource, before);
    const rlimit all{std::max(most, before->rlim_max), std::max(most, before->rlim_max)},
        allowed{before->rlim_max, before->rlim_max};
    if (setrlimit(resource, &all) != 0) setrlimit(resource, &allowed);
  };
  rlim_t most_files = 0;
  std::ifstream("/proc/sys/fs/nr_open") >> most_files;
  raise(RLIMIT_NOFILE, most_files, &original.files);
  // The kernel holds each application to its own limit before a write gets here.
  raise(RLIMIT_FSIZE, 0, &original.file_size);
  return original;
}

// Others wait for this process to write their data back, and for all else: it must neither wait for that in turn to get memory,
// nor be the first to be killed for it. For threads made from now on; a command has been started already. Where it is not
// permitted, not.
void resist_memory_pressure() {
  prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, "-900", 4);
  close(fd);
}

// Files that users may have open: one user half of the descriptors, all but root three quarters, and the rest remains for root
// and the capture itself. (What the inode table holds it gives back when there are none left.)
OpenFiles::Limits open_file_limits() {
  rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  return {size_t(files.rlim_cur / 2), size_t(files.rlim_cur / 4 * 3)};
}

// Half of the descriptors are for the files that applications open.
size_t descriptor_budget() {
  rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  return size_t(std::clamp<rlim_t>(files.rlim_cur / 2, 16, 100'000));
}

// A descriptor for open_by_handle_at() where file handles are known to be honest, else -1.
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

std::string command_line(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& a : argv) {
    if (!line.empty()) line += ' ';
    bool plain = !a.empty() && a.find_first_of(" \t\n'\"\\$`*?[](){}<>|&;!#~") == std::string::npos;
    if (plain) {
      line += a;
      continue;
    }
    line += '\'';
    for (char c : a) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::string visible_with(CacheMode mode) {
  const char* calls = "";
  switch (mode) {
    case CacheMode::kAuto:
      calls = "cache auto: every call; of lookups those that the kernel can't answer itself; not: ";
      break;
    case CacheMode::kNone:
      calls = "cache none: every call, and a lookup for each name of its path; not: ";
      break;
    case CacheMode::kAttr:
      calls = "cache attr: every read, write and change; not: lookups and stats that the kernel answers for a second, ";
      break;
    case CacheMode::kKernel:
      calls =
          "cache kernel: every write and change; not: lookups and stats that the kernel answers for a second, reads of cached "
          "pages, ";
      break;
  }
  return std::string(calls) +
         "lseek to a known offset, touches of mapped pages, syncfs; before Linux 6.6 files named *-shm are cached";
}

TraceHeader describe(const CaptureOptions& options, const std::string& directory, const MountEntry& below) {
  utsname system = {};
  uname(&system);
  TraceHeader header;
  header.id = random_trace_id();
  header.clock_unit = options.clock_unit;
  header.program = "fsshim " FSR_VERSION;
  header.host = system.nodename;
  header.kernel = system.release;
  header.directory = directory;
  header.mount_source = below.source;
  header.mount_type = below.type;
  header.mount_options = below.options;
  header.command = command_line(options.command);
  header.content = content_name(options.content);
  header.filter = options.filter.text();
  header.visibility = visible_with(options.cache);
  if (options.kernel_checks)
    header.visibility +=
        "; permissions kernel: attributes are asked for at each component of a path and each open, not seen: access, chdir";
  header.transport = transport_text(*options.uring);
  header.nfs = nfs_counters_of(below.point);
  return header;
}

EntryCache::Settings cache_settings(const CaptureOptions& options, const std::string& directory, const CapturedCommand* command) {
  EntryCache::Settings settings;
  settings.mode = options.cache;
  // Others see the directory itself and may well change it while the command runs.
  if (command) settings.keep_ns /= 10;
  std::string process = command && may_switch() ? std::to_string(command->pid()) : "self";
  settings.mounted_inside = [directory, process] { return is_mounted_on(directory, process); };
  return settings;
}

// Takes the mount away when the start fails after it was made.
class MountGuard {
 public:
  explicit MountGuard(const WayTo& way) : way_(way) {}
  ~MountGuard() { release(); }
  MountGuard(const MountGuard&) = delete;
  MountGuard& operator=(const MountGuard&) = delete;
  void made(const OwnMount& mount) { mount_ = mount; }
  std::string release() { return mount_.dev ? take_away(mount_, &way_) : std::string(); }  // empty, or why it is still there

 private:
  const WayTo& way_;
  OwnMount mount_;
};

void summary(const TraceSink& sink, const Recorder& recorder, const CaptureOutput& output, bool verbose) {
  uint64_t operations = sink.operations(), bytes = sink.trace_bytes();
  std::string more;
  if (sink.piece() > 1) more += " in " + std::to_string(sink.piece()) + " pieces";
  if (sink.filtered()) more += ", " + format_count(sink.filtered()) + " filtered out";
  dprintf(
      STDERR_FILENO, "fsshim: %s operations in %s -> %s (%s, %.1f bytes per operation)%s, %s not recorded, %s waits for room\n",
      format_count(operations).c_str(), format_duration(sink.end()).c_str(), escape_text(output.trace()).c_str(),
      format_size(bytes).c_str(), operations ? double(bytes) / double(operations) : 0.0, more.c_str(),
      format_count(recorder.dropped() + recorder.unrecorded() + sink.lost()).c_str(), format_count(recorder.waited()).c_str());
  for (unsigned kind = 0; verbose && kind < kOpKinds; ++kind)
    if (uint64_t n = sink.by_kind()[kind])
      dprintf(STDERR_FILENO, "fsshim: %12s %s\n", format_count(n).c_str(), op_name(OpKind(kind)));
  if (const int64_t time = recorder.ring_time(); verbose && time >= 0)
    dprintf(STDERR_FILENO, "fsshim: rings of %s: the highest load, %s/s, for %s\n", format_size(recorder.ring_bytes()).c_str(),
            format_size(recorder.ring_load()).c_str(), format_duration(time).c_str());
}

}  // namespace

int run_capture(CaptureOptions& options) {
  if (options.background && !options.command.empty()) throw Fail("--background: a command is waited for; leave one of them out");
  std::unique_ptr<Background> parent;
  if (options.background) parent = std::make_unique<Background>();
  const bool root_user = geteuid() == 0, in_namespace = !options.command.empty();
  const Surroundings original = leave_surroundings();
  const std::string directory = absolute(options.directory);
  UniqueFd root(open_directory(directory));
  std::optional<MountEntry> below = mount_of(root.get());
  if (!below) throw Fail(directory + ": its mount is not in /proc/self/mountinfo");
  if (below->type == kMountType) throw Fail(directory + ": already captured (fsshim list)");
  refuse_needed(directory, root.get(), below->type, !in_namespace);
  const std::string problem = uring_problem();
  if (!options.uring) options.uring = problem.empty() && below->type == "tmpfs" && mounts_inside(directory).empty();
  if (*options.uring && !problem.empty()) throw Fail(problem);
  if (!root_user && !in_namespace)
    throw Fail(directory + ": no permission to mount over it: run as root, or give a command after --");
  set_may_switch(root_user);
  if (!root_user) {
    UniqueFd probe(open_fuse_device());
    enter_private_namespace(true);
    root = UniqueFd(open_directory(directory));
  }

  const WayTo way(root.get());
  CaptureOutput output(options.output, directory, root.get(), options.rotate != 0, options.background);
  TraceHeader header = describe(options, directory, *below);
  for (const MountEntry& m : mounts_inside(directory)) header.mounts_below.push_back(mount_text(m, directory));
  struct statvfs own;
  constexpr unsigned long kUnsafe = MS_NOSUID | MS_NODEV;
  if (unsigned long more = fstatvfs(root.get(), &own) == 0 ? restrictions(root.get(), directory) & kUnsafe & ~own.f_flag : 0)
    dprintf(STDERR_FILENO, "fsshim: %s: all of it is %s during the capture, because of a file system mounted inside\n",
            escape_text(directory).c_str(),
            more == kUnsafe     ? "nosuid and nodev"
            : more == MS_NOSUID ? "nosuid"
                                : "nodev");
  Holders holders = processes_below(directory);
  for (const std::string& process : header.not_seen = std::move(holders.processes))
    dprintf(STDERR_FILENO, "fsshim: not seen, it holds files below the directory already: %s\n", escape_text(process).c_str());
  for (const std::string& process : holders.not_looked_at) {
    dprintf(STDERR_FILENO, "fsshim: not looked at whether it holds files below the directory, it does not answer: %s\n",
            escape_text(process).c_str());
    header.not_seen.push_back(process + " (not looked at)");
  }
  for (const std::string& path : sockets_below(directory)) {
    dprintf(STDERR_FILENO, "fsshim: bound before the capture, so that nobody can connect to it through the capture: %s\n",
            escape_text(path).c_str());
    header.not_seen.push_back("socket " + path + ", bound before");
  }
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
  UniqueFd proc(open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!proc) throw failed("/proc/self/fd", errno);
  MountGuard mount(way);
  std::unique_ptr<CapturedCommand> command;
  if (!in_namespace || !root_user) {
    const OwnMount made = mount_over(root.get(), fuse.get(), directory, options.kernel_checks);
    mount.made(made);
    if (watcher) watcher->arm(made);
    fields["device"] = std::to_string(made.dev);
  }
  if (in_namespace)
    command = std::make_unique<CapturedCommand>(options.command, original, [&] {
      if (!root_user) return;
      enter_private_namespace(false);
      UniqueFd here(open_directory(directory));
      same_directory_or_fail(here.get(), root.get(), directory);
      mount_over(here.get(), fuse.get(), directory, options.kernel_checks);
    });

  UniqueFd by_handle(handle_descriptor(root.get()));
  InodeTable inodes(root.get(), by_handle.get(), descriptor_budget());
  const bool other_namespace = command && root_user;
  const std::optional<MountEntry> its_mount =
      other_namespace ? mount_of_source(directory, std::to_string(command->pid())) : std::nullopt;
  if (other_namespace && !its_mount) throw Fail(directory + ": the command's process ended before it could start");
  const std::optional<MountEntry> mounted = other_namespace ? its_mount : mount_of_source(directory);
  const unsigned connection = mounted ? minor(mounted->dev) : 0;
  control.tell("connection", std::to_string(connection));
  MountWatch watch(directory, other_namespace ? std::to_string(command->pid()) : "", [&](unsigned long flags) {
    auto act = [&] { return restrict_mount(directory, flags); };
    return other_namespace ? act_where_mounted(*its_mount, act) : act();
  });
  resist_memory_pressure();
  header.epoch = clock_ns(CLOCK_REALTIME);
  const int64_t epoch = clock_ns(CLOCK_MONOTONIC);
  TraceSink sink(output.take_trace_fd(), header,
                 {.max_bytes = options.max_size,
                  .max_time = options.max_time,
                  .rotate_bytes = options.rotate,
                  .keep = options.keep,
                  .filter = options.filter.empty() ? nullptr : &options.filter,
                  .pieces = &output,
                  .nfs_counters = [point = below->point] { return nfs_counters_of(point); },
                  .mounted_meanwhile =
                      [&watch](TraceClosing& closing) {
                        MountWatch::Told told = watch.told();
                        closing.mounts_below = std::move(told.below);
                        closing.not_seen = std::move(told.not_seen);
                      }});
  Recorder recorder(sink, ring_size(options), epoch, options.drop ? Overflow::drop : Overflow::wait);
  Shim shim(recorder, inodes, proc.get(), options.content, cache_settings(options, directory, command.get()),
            options.kernel_checks, open_file_limits());
  shim.processes.ask_start = [&start_times](pid_t tid) { start_times.ask(tid); };
  Session session(shim, fuse.release(), *options.uring);
  session.start();
  if (*options.uring && !session.over_uring()) throw Fail("FUSE over io_uring could not be started");
  // In a user namespace the kernel refuses to write into a directory whose owner it does not know yet.
  struct stat known;
  if (!root_user) (void)!stat(directory.c_str(), &known);
  if (command) command->go();
  output.keep();
  if (parent) parent->ready(directory, output);
  notify_service_manager("READY=1");
  if (options.verbose) {
    dprintf(STDERR_FILENO, "fsshim: capturing %s (%s) over %s into %s\n", escape_text(directory).c_str(), below->type.c_str(),
            header.transport.c_str(), escape_text(output.trace()).c_str());
    dprintf(STDERR_FILENO,
            "fsshim: syncfs(2) (sync -f) syncs nothing there, the kernel does not pass it on; fsync and sync do\n");
  }

  auto detach = [&]() -> std::string {
    if (!other_namespace) return mount.release();
    act_where_mounted(*its_mount, [&] { return take_away({its_mount->id, its_mount->dev}).empty(); });
    return {};
  };
  std::string failure;
  auto close_all = [&](const std::string& reason) {
    recorder.stop(reason);
    failure = recorder.failure();
    if (failure.empty() && recorder.dropped() != 0) failure = format_count(recorder.dropped()) + " operations were dropped";
    if (failure.empty() && !sink.rotation_failure().empty()) failure = "rotation failed: " + sink.rotation_failure();
    try {
      output.write_mix(sink.by_kind());
    } catch (const std::exception& e) {
      if (failure.empty()) failure = e.what();
    }
    summary(sink, recorder, output, options.verbose);
  };
  // A thread that waits for a dead disk keeps the process from ending: nobody else shall wait for it.
  auto give_up = [&] {
    abort_connection(connection);
    forget_capture(getpid());
    _exit(1);
  };
  StallWatch stalls(options.stall);
  bool aborted = false;
  auto news = [&](bool trace_closed, int64_t now) {
    std::vector<std::string> lines = stalls.look(coarse_now());
    if (options.abort_stalled && stalls.own_fault() && !std::exchange(aborted, true)) {
      const int error = abort_connection(connection);
      lines.push_back(error == 0 ? "connection aborted: applications get errors rather than wait"
                                 : std::string("the connection can't be aborted: ") + strerror(error));
    }
    if (trace_closed) return lines;
    start_times.take([&shim](pid_t tid, uint64_t ticks) { shim.processes.started(tid, ticks); });
    for (std::string& line : watch.look(now)) lines.push_back(std::move(line));
    return lines;
  };
  CaptureLoop loop({session, recorder, sink, shim, control, command.get(), detach, close_all, give_up, fields, stalls, news,
                    watch.changes_fd()});
  int status = loop.run();
  if (!failure.empty()) {
    dprintf(STDERR_FILENO, "fsshim: %s: not complete: %s\n", escape_text(output.trace()).c_str(), escape_text(failure).c_str());
    if (status == 0) status = 1;
  }
  return status;
}

}  // namespace fsr::shim
