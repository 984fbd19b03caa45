// SPDX-License-Identifier: Apache-2.0
// fsshim capture DIR [-- COMMAND...]
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "capture_loop.hpp"
#include "fail.hpp"
#include "mount.hpp"
#include "not_seen.hpp"
#include "output.hpp"
#include "subcommands.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

constexpr size_t kRingBytes = 4 << 20;
constexpr size_t kContentRingBytes = 32 << 20;  // holds several of the largest reads

struct Fd {
  int value = -1;
  Fd() = default;
  explicit Fd(int fd) : value(fd) {}
  ~Fd() { reset(-1); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  void reset(int fd) {
    if (value >= 0) close(value);
    value = fd;
  }
  int release() { return std::exchange(value, -1); }
};

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

void same_directory_or_fail(int a, int b, const std::string& directory) {
  struct stat one, other;
  if (fstat(a, &one) != 0 || fstat(b, &other) != 0 || one.st_dev != other.st_dev || one.st_ino != other.st_ino)
    throw Fail(directory + ": changed while the capture started");
}

Surroundings raise_limits() {
  Surroundings original;
  original.umask = umask(0);
  auto raise = [](auto resource, rlimit* before) {
    getrlimit(resource, before);
    rlimit raised = *before;
    raised.rlim_cur = raised.rlim_max;
    setrlimit(resource, &raised);
  };
  raise(RLIMIT_NOFILE, &original.files);
  // The kernel holds each application to its own limit before a write gets here.
  raise(RLIMIT_FSIZE, &original.file_size);
  return original;
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

std::string random_uuid() {
  unsigned char b[16] = {};
  if (getrandom(b, sizeof b, 0) != ssize_t(sizeof b)) throw failed("random numbers", errno);
  b[6] = (b[6] & 0x0f) | 0x40;
  b[8] = (b[8] & 0x3f) | 0x80;
  char text[40];
  snprintf(text, sizeof text, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3],
           b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
  return text;
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

TraceHeader describe(const CaptureOptions& options, const std::string& directory, const MountEntry& below) {
  utsname system = {};
  uname(&system);
  TraceHeader header;
  header.id = random_uuid();
  header.clock_unit = options.clock_unit;
  header.program = "fsshim " FSR_VERSION;
  header.host = system.nodename;
  header.kernel = system.release;
  header.directory = directory;
  header.mount_source = below.source;
  header.mount_type = below.type;
  header.mount_options = below.options;
  header.command = command_line(options.command);
  header.content = options.content ? "full" : "none";
  header.visibility =
      "every call; not: lseek to a known offset, touches of mapped pages; before Linux 6.6 files named *-shm are cached";
  header.mountstats = mountstats_of(below.point);
  return header;
}

// Takes the mount away when the start fails after it was made.
class MountGuard {
 public:
  explicit MountGuard(std::string path) : path_(std::move(path)) {}
  ~MountGuard() { release(); }
  MountGuard(const MountGuard&) = delete;
  MountGuard& operator=(const MountGuard&) = delete;
  void made(uint64_t dev) { dev_ = dev; }
  void release() {
    if (dev_ != 0) take_away(path_, dev_);
    dev_ = 0;
  }

 private:
  std::string path_;
  uint64_t dev_ = 0;
};

// What the command left behind still uses its namespace; a process that enters it can take the mount away.
void detach_in_namespace(const Command& command, const std::string& directory) {
  int space;
  if (!command.namespace_in_use(&space)) return;
  pid_t child = fork();
  if (child == 0) {
    if (setns(space, CLONE_NEWNS) == 0) umount2(directory.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
    _exit(0);
  }
  close(space);
  if (child > 0) waitpid(child, nullptr, 0);
}

void summary(const TraceSink& sink, const Recorder& recorder, const CaptureOutput& output, bool verbose) {
  uint64_t operations = sink.operations(), bytes = sink.trace_bytes();
  fprintf(stderr, "fsshim: %s operations in %s -> %s (%s, %.1f bytes per operation), %s not recorded, %s waits for room\n",
          format_count(operations).c_str(), format_duration(sink.end()).c_str(), escape_text(output.trace()).c_str(),
          format_size(bytes).c_str(), operations ? double(bytes) / double(operations) : 0.0,
          format_count(recorder.dropped() + recorder.unrecorded() + sink.lost()).c_str(),
          format_count(recorder.waited()).c_str());
  for (unsigned kind = 0; verbose && kind < kOpKinds; ++kind)
    if (uint64_t n = sink.by_kind()[kind]) fprintf(stderr, "fsshim: %12s %s\n", format_count(n).c_str(), op_name(OpKind(kind)));
}

}  // namespace

int run_capture(const CaptureOptions& options) {
  const bool root_user = geteuid() == 0, in_namespace = !options.command.empty();
  block_signals();
  const Surroundings original = raise_limits();
  const std::string directory = absolute(options.directory);
  Fd root(open_directory(directory));
  std::optional<MountEntry> below = mount_of(root.value);
  if (!below) throw Fail(directory + ": its mount is not in /proc/self/mountinfo");
  if (below->type == kMountType) throw Fail(directory + ": already captured (fsshim list)");
  if (!root_user && !in_namespace)
    throw Fail(directory + ": no permission to mount over it: run as root, or give a command after --");
  set_may_switch(root_user);
  if (!root_user) {
    Fd probe(open_fuse_device());
    enter_private_namespace(true);
    root.reset(open_directory(directory));
  }

  CaptureOutput output(options.output, directory, root.value);
  TraceHeader header = describe(options, directory, *below);
  for (const std::string& process : header.not_seen = processes_below(directory))
    fprintf(stderr, "fsshim: not seen, it holds files below the directory already: %s\n", escape_text(process).c_str());
  ControlFields fields{{"directory", directory}, {"trace", output.full_name()}, {"command", header.command}};
  ControlServer control(fields);
  std::unique_ptr<Watcher> watcher;
  if (!in_namespace) {
    watcher = std::make_unique<Watcher>(directory);
    // Stopped by ^Z, it would hang every application below the directory, the shell perhaps among them.
    for (int number : {SIGTSTP, SIGTTIN, SIGTTOU}) signal(number, SIG_IGN);
  }

  Fd fuse(open_fuse_device());
  Fd proc(open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (proc.value < 0) throw failed("/proc/self/fd", errno);
  MountGuard mount(directory);
  std::unique_ptr<Command> command;
  if (!in_namespace || !root_user) {
    uint64_t dev = mount_over(root.value, fuse.value, directory);
    mount.made(dev);
    if (watcher) watcher->arm(dev);
  }
  if (in_namespace)
    command = std::make_unique<Command>(options.command, original, [&] {
      if (!root_user) return;
      enter_private_namespace(false);
      Fd here(open_directory(directory));
      same_directory_or_fail(here.value, root.value, directory);
      mount_over(here.value, fuse.value, directory);
    });

  Fd by_handle(handle_descriptor(root.value));
  InodeTable inodes(root.value, by_handle.value, descriptor_budget());
  header.epoch = clock_ns(CLOCK_REALTIME);
  const int64_t epoch = clock_ns(CLOCK_MONOTONIC);
  TraceSink sink(output.take_trace_fd(), header, [point = below->point] { return mountstats_of(point); });
  Recorder recorder(sink, options.content ? kContentRingBytes : kRingBytes, epoch);
  Shim shim(recorder, inodes, proc.value, options.content);
  Session session(shim, fuse.release());
  session.start();
  // In a user namespace the kernel refuses to write into a directory whose owner it does not know yet.
  struct stat known;
  if (!root_user) (void)!stat(directory.c_str(), &known);
  if (command) command->go();
  output.keep();
  if (options.verbose)
    fprintf(stderr, "fsshim: capturing %s (%s) into %s\n", escape_text(directory).c_str(), below->type.c_str(),
            escape_text(output.trace()).c_str());

  auto detach = [&] {
    if (command && root_user)
      detach_in_namespace(*command, directory);
    else
      mount.release();
  };
  std::string failure;
  auto closed = [&] {
    failure = recorder.failure();
    if (failure.empty() && recorder.dropped() != 0) failure = format_count(recorder.dropped()) + " operations were lost";
    try {
      output.write_mix(sink.by_kind());
    } catch (const std::exception& e) {
      if (failure.empty()) failure = e.what();
    }
    summary(sink, recorder, output, options.verbose);
  };
  CaptureLoop loop({session, recorder, sink, shim, control, command.get(), detach, closed, fields});
  int status = loop.run();
  if (!failure.empty()) {
    fprintf(stderr, "fsshim: %s: not complete: %s\n", escape_text(output.trace()).c_str(), escape_text(failure).c_str());
    if (status == 0) status = 1;
  }
  return status;
}

}  // namespace fsr
