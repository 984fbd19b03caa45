// SPDX-License-Identifier: Apache-2.0
#include "proc_read.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace fsr::shim {

namespace {

// An open /proc/TID/status belongs to the kernel's identity of its thread, not to the number. Once the thread has ended, reading
// it fails with ESRCH, even if another thread has the number.
struct OpenStatus {
  OpenStatus(pid_t tid_arg, int fd_arg, uint64_t instance_arg) : tid(tid_arg), fd(fd_arg), instance(instance_arg) {}
  ~OpenStatus() { close(fd); }
  OpenStatus(const OpenStatus&) = delete;
  OpenStatus& operator=(const OpenStatus&) = delete;
  const pid_t tid;
  const int fd;
  const uint64_t instance;
};

// The open status files that were used last.
class OpenStatuses {
 public:
  OpenStatuses() {
    rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    most_ = size_t(std::clamp<rlim_t>(files.rlim_cur / 16, 1, 1024));
  }

  std::shared_ptr<OpenStatus> find(pid_t tid) {
    std::lock_guard lock(mutex_);
    auto at = by_tid_.find(tid);
    if (at == by_tid_.end()) return nullptr;
    used_.splice(used_.begin(), used_, at->second);
    return *at->second;
  }

  // Null: there is no such thread.
  std::shared_ptr<OpenStatus> open_anew(pid_t tid) {
    const std::string path = "/proc/" + std::to_string(tid) + "/status";
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
      forget_all();
      fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0) return nullptr;
    std::lock_guard lock(mutex_);
    auto status = std::make_shared<OpenStatus>(tid, fd, ++last_instance_);
    if (auto [at, fresh] = by_tid_.try_emplace(tid); !fresh) used_.erase(at->second);
    used_.push_front(status);
    by_tid_[tid] = used_.begin();
    if (used_.size() > most_) {
      by_tid_.erase(used_.back()->tid);
      used_.pop_back();
    }
    return status;
  }

 private:
  void forget_all() {
    std::lock_guard lock(mutex_);
    by_tid_.clear();
    used_.clear();
  }

  std::mutex mutex_;
  size_t most_;
  uint64_t last_instance_ = 0;
  std::list<std::shared_ptr<OpenStatus>> used_;  // the last one first
  std::unordered_map<pid_t, std::list<std::shared_ptr<OpenStatus>>::iterator> by_tid_;
};

OpenStatuses& open_statuses() {
  static OpenStatuses& all = *new OpenStatuses;  // threads may be at work when statics are destroyed
  return all;
}

// Empty: the thread has ended.
std::string_view text_of(const OpenStatus& status) {
  // A process may have 65,536 groups; the usual few fit the first buffer.
  thread_local std::vector<char> buffer(4096);
  for (;;) {
    const ssize_t n = pread(status.fd, buffer.data(), buffer.size(), 0);
    if (n <= 0) return {};
    if (size_t(n) < buffer.size()) {
      buffer[size_t(n)] = 0;  // for strtoul() on the last line
      return {buffer.data(), size_t(n)};
    }
    buffer.resize(buffer.size() * 4);
  }
}

template <class Number>
void take_numbers(std::string_view text, Number* numbers, size_t most) {
  const char* p = text.data();
  for (size_t i = 0; i < most; ++i) {
    char* end;
    numbers[i] = Number(strtoull(p, &end, 10));
    p = end;
  }
}

uint64_t hexadecimal(std::string_view text) { return strtoull(text.data(), nullptr, 16); }

// The kernel writes a backslash and a line break in it as two characters.
void take_name(std::string_view text, char (&name)[16]) {
  size_t n = 0;
  for (size_t i = 0; i < text.size() && n + 1 < sizeof name; ++i) {
    const bool escaped = text[i] == '\\' && i + 1 < text.size();
    name[n++] = !escaped ? text[i] : text[++i] == 'n' ? '\n' : text[i];
  }
  name[n] = 0;
}

void take_groups(std::string_view text, std::vector<gid_t>& groups) {
  groups.clear();
  const char* p = text.data();
  for (const char* const end = p + text.size();;) {
    while (p < end && *p == ' ') ++p;
    if (p == end) return;
    char* after;
    groups.push_back(gid_t(strtoul(p, &after, 10)));
    if (after == p) return groups.pop_back();
    p = after;
  }
}

}  // namespace

void parse_status(std::string_view text, ThreadStatus& status) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size()), colon = text.find(":\t");
    if (colon < end) {
      const std::string_view key = text.substr(0, colon), value = text.substr(colon + 2, end - colon - 2);
      if (key == "Name") take_name(value, status.name);
      if (key == "Tgid") take_numbers(value, &status.pid, 1);
      if (key == "PPid") take_numbers(value, &status.ppid, 1);
      if (key == "Uid") take_numbers(value, status.uid, 4);
      if (key == "Gid") take_numbers(value, status.gid, 4);
      if (key == "Groups") take_groups(value, status.groups);
      if (key == "SigPnd") status.signals_pending = hexadecimal(value);
      if (key == "ShdPnd") status.signals_pending |= hexadecimal(value);
      if (key == "SigBlk") status.signals_blocked = hexadecimal(value);
      if (key == "CapBnd") {
        status.bounding = hexadecimal(value);
        return;  // the last of them
      }
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool read_status(pid_t tid, ThreadStatus& status) {
  std::shared_ptr<OpenStatus> file = open_statuses().find(tid);
  std::string_view text = file ? text_of(*file) : std::string_view();
  if (text.empty()) {
    file = open_statuses().open_anew(tid);
    if (file) text = text_of(*file);
  }
  if (text.empty()) return false;
  parse_status(text, status);
  status.instance = file->instance;
  return true;
}

std::string read_proc(const std::string& process, ProcFile file) {
  static constexpr const char* kNames[] = {"comm", "mountinfo", "uid_map", "gid_map"};
  const int fd = open(("/proc/" + process + "/" + kNames[int(file)]).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  close(fd);
  if (file == ProcFile::comm && text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<pid_t> process_ids() {
  std::vector<pid_t> ids;
  DIR* proc = opendir("/proc");
  if (!proc) return ids;
  while (dirent* e = readdir(proc))
    if (const int pid = atoi(e->d_name); pid > 0) ids.push_back(pid);
  closedir(proc);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace fsr::shim
