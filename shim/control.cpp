// SPDX-License-Identifier: Apache-2.0
#include "control.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "capture_error.hpp"
#include "mount.hpp"
#include "process_limits.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

bool own_private_directory(const std::string& path, bool create) {
  if (create && mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
  struct stat s;
  return lstat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() && (s.st_mode & 077) == 0;
}

std::string to_text(const ControlFields& fields) {
  std::string text;
  for (const auto& [key, value] : fields) text += key + "=" + escape_text(value) + "\n";
  return text;
}

ControlFields from_text(std::istream& in) {
  ControlFields fields;
  for (std::string line; std::getline(in, line);)
    if (size_t at = line.find('='); at != std::string::npos) fields[line.substr(0, at)] = line.substr(at + 1);
  return fields;
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw CaptureError(path + ": path too long for a socket; set XDG_RUNTIME_DIR to a shorter one");
  path.copy(address.sun_path, path.size());
  return address;
}

// None: no process listens there.
UniqueFd connect_to(pid_t pid) {
  const std::string directory = control_directory(false);
  if (directory.empty()) return UniqueFd();
  const sockaddr_un address = address_of(directory + "/" + std::to_string(pid) + ".sock");
  UniqueFd socket_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool listens =
      connect(socket_fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN;
  return listens ? std::move(socket_fd) : UniqueFd();
}

constexpr int kForEver = -1;
constexpr int kStartTimeout = 5000;  // ms for another capture's start, which a dead file system may hold up

constexpr size_t kMostSilent = 64;  // clients that have not asked; the newest are kept

// `timeout` in seconds.
bool ask(int fd, const std::string& request, int timeout, ControlFields* answer) {
  std::string text;
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) == ssize_t(request.size())) {
    char buffer[4096];
    for (pollfd wait = {fd, POLLIN, 0}; poll(&wait, 1, timeout == kForEver ? -1 : timeout * 1000) > 0;) {
      const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      text.append(buffer, size_t(n));
    }
  }
  std::istringstream in(text);
  *answer = from_text(in);
  return !answer->empty();
}

}  // namespace

std::string control_directory(bool create) {
  std::vector<std::string> candidates;
  if (geteuid() == 0) {
    candidates = {"/run/fsshim"};
  } else {
    if (const char* runtime = getenv("XDG_RUNTIME_DIR")) candidates.push_back(std::string(runtime) + "/fsshim");
    std::string uid = std::to_string(geteuid());
    candidates.push_back("/run/user/" + uid + "/fsshim");
    candidates.push_back("/tmp/fsshim-" + uid);
  }
  for (const std::string& candidate : candidates)
    if (own_private_directory(candidate, create)) return candidate;
  return {};
}

UniqueFd lock_starts() {
  UniqueFd directory(open(control_directory(true).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int waited = 0; flock(directory.get(), LOCK_EX | LOCK_NB) != 0 && waited < kStartTimeout; waited += 10) usleep(10'000);
  return directory;
}

ControlServer::ControlServer(const ControlFields& info)
    : directory_(control_directory(true)),
      name_(std::to_string(getpid())),
      directory_fd_(open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      info_(info) {
  if (directory_fd_ < 0)
    throw CaptureError(std::string("no private directory for the control socket: ") +
                       (geteuid() == 0 ? "/run must be writable (in a container: --tmpfs /run)" : "set XDG_RUNTIME_DIR"));
  for (FoundCapture& other : find_captures(0))
    if (!other.alive && other.info["directory"] == escape_text(info.at("directory"))) forget_capture(other.pid);
  sockaddr_un address = address_of(directory_ + "/" + name_ + ".sock");
  unlink(address.sun_path);
  listener_ = UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  events_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  epoll_event coming{.events = EPOLLIN, .data = {.fd = listener_.get()}};
  if (!listener_ || bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      chmod(address.sun_path, 0600) != 0 || listen(listener_.get(), 8) != 0 ||
      epoll_ctl(events_.get(), EPOLL_CTL_ADD, listener_.get(), &coming) != 0)
    throw failed(address.sun_path, errno);
  write_info(name_ + ".info");
}

void ControlServer::write_info(const std::string& name) const {
  const int fd = openat(directory_fd_, name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) throw failed(directory_ + "/" + name, errno);
  const std::string text = to_text(info_);
  (void)!write(fd, text.data(), text.size());
  close(fd);
}

void ControlServer::set_field(const std::string& key, const std::string& value) {
  info_[key] = value;
  const std::string next = name_ + ".next";
  write_info(next);
  renameat(directory_fd_, next.c_str(), directory_fd_, (name_ + ".info").c_str());
}

ControlServer::~ControlServer() {
  // After this, clients that still wait for a reply see the sockets close, and so the capture's orderly end.
  for (const char* kind : {".info", ".sock"}) unlinkat(directory_fd_, (name_ + kind).c_str(), 0);
  close(directory_fd_);
}

void ControlServer::admit() {
  const ReservedDescriptors reserved;
  for (;;) {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    ucred peer = {};
    socklen_t size = sizeof peer;
    epoll_event asking{.events = EPOLLIN, .data = {.fd = fd.get()}};
    if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || (peer.uid != geteuid() && peer.uid != 0) ||
        epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd.get(), &asking) != 0)
      continue;
    if (silent_.size() == kMostSilent) take(silent_.begin());
    silent_.push_back(std::move(fd));
  }
}

UniqueFd ControlServer::take(std::deque<UniqueFd>::iterator client) {
  UniqueFd fd = std::move(*client);
  silent_.erase(client);
  epoll_ctl(events_.get(), EPOLL_CTL_DEL, fd.get(), nullptr);  // a child process may hold it, too: closing is not enough
  return fd;
}

std::string ControlServer::next(int* client) {
  admit();
  epoll_event events[kMostSilent + 1];
  const int count = epoll_wait(events_.get(), events, kMostSilent + 1, 0);
  for (int i = 0; i < count; ++i) {
    const auto who =
        std::find_if(silent_.begin(), silent_.end(), [&](const UniqueFd& s) { return s.get() == events[i].data.fd; });
    if (who == silent_.end()) continue;
    UniqueFd fd = take(who);
    char text[32];
    const ssize_t size = recv(fd.get(), text, sizeof text, 0);
    if (size <= 0) continue;
    *client = fd.release();
    return {text, size_t(size)};
  }
  return {};
}

void ControlServer::reply(int client, const ControlFields& fields) {
  std::string text = to_text(fields);
  (void)!send(client, text.data(), text.size(), MSG_NOSIGNAL);
  close(client);
}

std::vector<FoundCapture> find_captures(int timeout) {
  std::vector<FoundCapture> found;
  std::string directory = control_directory(false);
  DIR* dir = directory.empty() ? nullptr : opendir(directory.c_str());
  if (!dir) return found;
  while (dirent* e = readdir(dir)) {
    std::string name = e->d_name;
    if (!name.ends_with(".info")) continue;
    FoundCapture capture;
    capture.pid = pid_t(atoi(name.c_str()));
    std::ifstream file(directory + "/" + name);
    capture.info = from_text(file);
    ControlFields answer;
    if (const UniqueFd fd = connect_to(capture.pid)) {
      capture.alive = true;
      capture.answered = timeout > 0 && ask(fd.get(), "status", timeout, &answer);
    }
    if (!capture.alive && has_ended(capture.pid)) continue;
    capture.info["state"] = capture.alive ? "silent" : "died";
    for (auto& [key, value] : answer) capture.info[key] = value;
    found.push_back(capture);
  }
  closedir(dir);
  return found;
}

bool is_mount_of(const ControlFields& capture, const MountEntry& mount) {
  auto is = [&](const char* key, const std::string& value) {
    const auto at = capture.find(key);
    return at != capture.end() && at->second == value;
  };
  return mount.type == kMountType && is("device", std::to_string(mount.dev)) && is("directory", escape_text(mount.source));
}

std::vector<FoundCapture> find_captures_of(const std::string& directory) {
  const std::optional<MountEntry> top = mount_at(directory);
  std::vector<FoundCapture> by_mount, by_name;
  for (FoundCapture& capture : find_captures()) {
    if (top && is_mount_of(capture.info, *top)) by_mount.push_back(capture);
    if (capture.info["directory"] == escape_text(directory)) by_name.push_back(capture);
  }
  return by_mount.empty() ? by_name : by_mount;
}

bool ask_capture(pid_t pid, const std::string& request, ControlFields* answer) {
  const UniqueFd fd = connect_to(pid);
  return fd && ask(fd.get(), request, kForEver, answer);
}

bool has_ended(pid_t pid) {
  const std::string info = control_directory(false) + "/" + std::to_string(pid) + ".info";
  return access(info.c_str(), F_OK) != 0 && errno == ENOENT;
}

void forget_capture(pid_t pid) {
  std::string base = control_directory(false) + "/" + std::to_string(pid);
  unlink((base + ".sock").c_str());
  unlink((base + ".info").c_str());
}

}  // namespace fsr::shim
