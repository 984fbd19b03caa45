// SPDX-License-Identifier: Apache-2.0
// strace -f -ttt -T, with or without -y: lines, calls that are parted by others, and the table of system calls.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "strace_import.hpp"

namespace fsr::strace {

struct CallTable {
  using C = Calls;
  using K = OpKind;
  static constexpr CallSpec kCalls[] = {
      {"open", &C::open, K::open, {.path = 0, .a = 1, .b = 2}},
      {"openat", &C::open, K::open, {.dir = 0, .path = 1, .a = 2, .b = 3}},
      {"openat2", &C::open_how, K::open, {.dir = 0, .path = 1, .a = 2}},
      {"creat", &C::open, K::create, {.path = 0, .b = 1}},
      {"close", &C::close, K::flush, {.fd = 0}},
      {"close_range", &C::close_range, K::flush},
      {"dup", &C::duplicate, K::null, {.fd = 0}},
      {"dup2", &C::duplicate, K::null, {.fd = 0, .a = 1}},
      {"dup3", &C::duplicate, K::null, {.fd = 0, .a = 1, .b = 2}},
      {"fcntl", &C::control, K::null, {.fd = 0}},
      {"fcntl64", &C::control, K::null, {.fd = 0}},
      {"flock", &C::lock, K::flock, {.fd = 0, .a = 1}},
      {"pipe", &C::no_file, K::null},
      {"pipe2", &C::no_file, K::null},
      {"socketpair", &C::no_file, K::null},
      {"socket", &C::no_file, K::null},
      {"accept", &C::no_file, K::null},
      {"accept4", &C::no_file, K::null},
      {"eventfd2", &C::no_file, K::null},
      {"epoll_create1", &C::no_file, K::null},
      {"epoll_create", &C::no_file, K::null},
      {"signalfd4", &C::no_file, K::null},
      {"timerfd_create", &C::no_file, K::null},
      {"inotify_init1", &C::no_file, K::null},
      {"memfd_create", &C::no_file, K::null},
      {"pidfd_open", &C::no_file, K::null},
      {"perf_event_open", &C::no_file, K::null},
      {"io_uring_setup", &C::no_file, K::null},
      {"read", &C::transfer, K::read, {.fd = 0, .a = 2}},
      {"readv", &C::transfer, K::read, {.fd = 0, .a = 1}},
      {"pread64", &C::transfer, K::read, {.fd = 0, .a = 2, .b = 3}},
      {"preadv", &C::transfer, K::read, {.fd = 0, .a = 1, .b = 3}},
      {"preadv2", &C::transfer, K::read, {.fd = 0, .a = 1, .b = 3}},
      {"write", &C::transfer, K::write, {.fd = 0, .a = 2}},
      {"writev", &C::transfer, K::write, {.fd = 0, .a = 1}},
      {"pwrite64", &C::transfer, K::write, {.fd = 0, .a = 2, .b = 3}},
      {"pwritev", &C::transfer, K::write, {.fd = 0, .a = 1, .b = 3}},
      {"pwritev2", &C::transfer, K::write, {.fd = 0, .a = 1, .b = 3}},
      {"lseek", &C::seek, K::lseek, {.fd = 0, .a = 1, .b = 2}},
      {"fsync", &C::sync, K::fsync, {.fd = 0}},
      {"fdatasync", &C::sync, K::fsync, {.fd = 0, .a = 1}},
      {"fallocate", &C::allocate, K::fallocate, {.fd = 0}},
      {"getdents", &C::list_directory, K::readdir, {.fd = 0}},
      {"getdents64", &C::list_directory, K::readdir, {.fd = 0}},
      {"copy_file_range", &C::copy_range, K::copy_file_range, {.fd = 0}},
      {"sendfile", &C::send_file, K::read, {.fd = 1}},
      {"sendfile64", &C::send_file, K::read, {.fd = 1}},
      {"mmap", &C::map, K::null, {.fd = 4}},
      {"ioctl", &C::control_device, K::ioctl, {.fd = 0}},
      {"mkdir", &C::make, K::mkdir, {.path = 0, .a = 1}},
      {"mkdirat", &C::make, K::mkdir, {.dir = 0, .path = 1, .a = 2}},
      {"mknod", &C::make, K::mknod, {.path = 0, .a = 1, .b = 2}},
      {"mknodat", &C::make, K::mknod, {.dir = 0, .path = 1, .a = 2, .b = 3}},
      {"symlink", &C::make_symlink, K::symlink, {.path = 1, .a = 0}},
      {"symlinkat", &C::make_symlink, K::symlink, {.dir = 1, .path = 2, .a = 0}},
      {"link", &C::make_link, K::link, {.path = 0, .b = 1}},
      {"linkat", &C::make_link, K::link, {.dir = 0, .path = 1, .a = 2, .b = 3, .c = 4}},
      {"unlink", &C::remove, K::unlink, {.path = 0}},
      {"unlinkat", &C::remove, K::unlink, {.dir = 0, .path = 1, .a = 2}},
      {"rmdir", &C::remove, K::rmdir, {.path = 0}},
      {"rename", &C::rename, K::rename, {.path = 0, .b = 1}},
      {"renameat", &C::rename, K::rename, {.dir = 0, .path = 1, .a = 2, .b = 3}},
      {"renameat2", &C::rename, K::rename, {.dir = 0, .path = 1, .a = 2, .b = 3, .c = 4}},
      {"readlink", &C::read_link, K::readlink, {.path = 0, .a = 1, .b = 2}},
      {"readlinkat", &C::read_link, K::readlink, {.dir = 0, .path = 1, .a = 2, .b = 3}},
      {"chdir", &C::change_directory, K::null, {.path = 0}},
      {"fchdir", &C::change_directory, K::null, {.fd = 0}},
      {"umask", &C::change_umask, K::null},
      {"stat", &C::stat, K::getattr, {.path = 0, .a = 1}},
      {"lstat", &C::stat, K::getattr, {.path = 0, .a = 1}},
      {"fstat", &C::stat, K::getattr, {.fd = 0, .a = 1}},
      {"newfstatat", &C::stat, K::getattr, {.dir = 0, .path = 1, .a = 2, .b = 3}},
      {"fstatat64", &C::stat, K::getattr, {.dir = 0, .path = 1, .a = 2, .b = 3}},
      {"statx", &C::stat, K::statx, {.dir = 0, .path = 1, .a = 4, .b = 2}},
      {"access", &C::check_access, K::access, {.path = 0, .a = 1}},
      {"faccessat", &C::check_access, K::access, {.dir = 0, .path = 1, .a = 2}},
      {"faccessat2", &C::check_access, K::access, {.dir = 0, .path = 1, .a = 2, .b = 3}},
      {"chmod", &C::set_mode, K::setattr, {.path = 0, .a = 1}},
      {"fchmod", &C::set_mode, K::setattr, {.fd = 0, .a = 1}},
      {"fchmodat", &C::set_mode, K::setattr, {.dir = 0, .path = 1, .a = 2}},
      {"fchmodat2", &C::set_mode, K::setattr, {.dir = 0, .path = 1, .a = 2, .b = 3}},
      {"chown", &C::set_owner, K::setattr, {.path = 0, .a = 1, .b = 2}},
      {"lchown", &C::set_owner, K::setattr, {.path = 0, .a = 1, .b = 2}},
      {"fchown", &C::set_owner, K::setattr, {.fd = 0, .a = 1, .b = 2}},
      {"fchownat", &C::set_owner, K::setattr, {.dir = 0, .path = 1, .a = 2, .b = 3, .c = 4}},
      {"truncate", &C::set_size, K::setattr, {.path = 0, .a = 1}},
      {"ftruncate", &C::set_size, K::setattr, {.fd = 0, .a = 1}},
      {"utime", &C::set_times, K::setattr, {.path = 0, .a = 1}},
      {"utimes", &C::set_times, K::setattr, {.path = 0, .a = 1}},
      {"futimesat", &C::set_times, K::setattr, {.dir = 0, .path = 1, .a = 2}},
      {"utimensat", &C::set_times, K::setattr, {.dir = 0, .path = 1, .a = 2, .b = 3}},
      {"statfs", &C::file_system, K::statfs, {.path = 0}},
      {"fstatfs", &C::file_system, K::statfs, {.fd = 0}},
      {"syncfs", &C::file_system, K::syncfs, {.fd = 0}},
      {"getxattr", &C::attribute, K::getxattr, {.path = 0, .a = 1, .b = 2, .c = 3}},
      {"lgetxattr", &C::attribute, K::getxattr, {.path = 0, .a = 1, .b = 2, .c = 3}},
      {"fgetxattr", &C::attribute, K::getxattr, {.fd = 0, .a = 1, .b = 2, .c = 3}},
      {"setxattr", &C::attribute, K::setxattr, {.path = 0, .a = 1, .b = 2, .c = 3}},
      {"lsetxattr", &C::attribute, K::setxattr, {.path = 0, .a = 1, .b = 2, .c = 3}},
      {"fsetxattr", &C::attribute, K::setxattr, {.fd = 0, .a = 1, .b = 2, .c = 3}},
      {"listxattr", &C::attribute, K::listxattr, {.path = 0, .c = 2}},
      {"llistxattr", &C::attribute, K::listxattr, {.path = 0, .c = 2}},
      {"flistxattr", &C::attribute, K::listxattr, {.fd = 0, .c = 2}},
      {"removexattr", &C::attribute, K::removexattr, {.path = 0, .a = 1}},
      {"lremovexattr", &C::attribute, K::removexattr, {.path = 0, .a = 1}},
      {"fremovexattr", &C::attribute, K::removexattr, {.fd = 0, .a = 1}},
      {"execve", &C::execute, K::null, {.path = 0}},
      {"execveat", &C::execute, K::null, {.dir = 0, .path = 1}},
      {"clone", &C::clone, K::null},
      {"clone3", &C::clone, K::null},
      {"fork", &C::clone, K::null},
      {"vfork", &C::clone, K::null},
      {"splice", &C::lose, K::null},
      {"io_submit", &C::lose, K::null},
      {"io_uring_enter", &C::lose, K::null},
      {"name_to_handle_at", &C::lose, K::null},
      {"open_by_handle_at", &C::lose, K::null},
      {"chroot", &C::lose, K::null},
      {"pivot_root", &C::lose, K::null},
      {"mount", &C::lose, K::null},
      {"umount2", &C::lose, K::null},
      {"msync", &C::lose, K::null},
      {"sync", &C::lose, K::null},
      {"sync_file_range", &C::lose, K::null},
  };
};

const CallSpec* Calls::find(std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, const CallSpec*> all;
    for (const CallSpec& spec : CallTable::kCalls) all.emplace(spec.name, &spec);
    return all;
  }();
  auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

void Calls::line(const Line& line) {
  if (line.kind == Line::other) return;
  if (line.kind == Line::ended) {
    thread_ = processes_.find(line.tid);
    start_ = end_ = line.time;
    if (thread_) ended();
    processes_.erase(line.tid);
    thread_ = nullptr;
    return;
  }
  Thread& thread = processes_.thread(line.tid);
  std::string whole;
  start_ = line.time;
  if (line.kind == Line::unfinished) {
    thread.pending = line.text;
    thread.pending_since = line.time;
    return;
  }
  if (line.kind == Line::resumed) {
    if (!std::string_view(thread.pending).starts_with(line.name))
      return note(ImportNotes::lost, "calls of which the log shows the end only");
    whole = std::move(thread.pending) + std::string(line.text);
    thread.pending.clear();
    start_ = thread.pending_since;
  }
  const bool good = parse_call(whole.empty() ? line.text : std::string_view(whole), &call_);
  end_ = call_.duration >= 0 ? start_ + call_.duration : line.time;
  thread_ = &thread;
  if (!good)
    note(ImportNotes::lost, kNotUnderstood);
  else
    call();
  sink_.passed(std::min(processes_.oldest_pending(), start_));
}

void Calls::call() {
  const CallSpec* spec = find(call_.name);
  if (!spec) return note(ImportNotes::ignored, "system calls that concern no file");
  if (!call_.returned) return note(ImportNotes::ignored, "calls that the kernel restarted, or that ended their process");
  if (call_.duration < 0) note(ImportNotes::changed, "calls without a duration (strace -T tells it)");
  (this->*spec->handle)(*spec);
}

void Calls::finish() {
  if (const uint64_t n = processes_.pending()) sink_.note(ImportNotes::lost, "calls that had not returned at the end", n);
}

void Calls::lose(const CallSpec& spec) {
  note(ImportNotes::lost, fmt::format("{}: can't be expressed from what strace shows", spec.name));
}

}  // namespace fsr::strace

namespace fsr {

static bool sniff(std::string_view head) {
  for (unsigned lines = 0; lines < 20 && !head.empty(); ++lines) {
    const size_t end = std::min(head.find('\n'), head.size());
    strace::Line line;
    if (strace::parse_line(head.substr(0, end), &line) && line.kind != strace::Line::other) return true;
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return false;
}

static void run(ImportInput& input, const ImportOptions& options, ImportSink& sink) {
  strace::Calls calls(options, sink);
  std::string_view text;
  while (next_text_line(input, sink, &text)) {
    strace::Line line;
    if (text.starts_with("strace: Process ")) continue;
    if (strace::parse_line(text, &line))
      calls.line(line);
    else
      sink.note(ImportNotes::lost, kNotUnderstood);
  }
  calls.finish();
}

const Importer kStraceImporter = {
    "strace",
    "strace -f -ttt -T, with or without -y",
    "the wall clock of the machine, as fine as strace wrote it (microseconds, -ttt)",
    "who called (user and group), what was read and written through mappings, content, what inherited descriptors and relative "
    "paths stood for where strace -y did not tell, links that the log did not show, umask before it was set (022 taken)",
    sniff,
    run,
};

}  // namespace fsr
