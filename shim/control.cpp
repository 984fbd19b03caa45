// SPDX-License-Identifier: Apache-2.0
#include "control.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "fail.hpp"
#include "mount.hpp"
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
  if (path.size() >= sizeof address.sun_path) throw Fail(path + ": too long for a socket");
  path.copy(address.sun_path, path.size());
  return address;
}

// -1: nobody listens there.
int connect_to(pid_t pid) {
  const std::string directory = control_directory(false);
  if (directory.empty()) return -1;
  const sockaddr_un address = address_of(directory + "/" + std::to_string(pid) + ".sock");
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN) return fd;
  close(fd);
  return -1;
}

constexpr int kForEver = -1;

// Closes fd. `patience` in seconds.
bool ask(int fd, const std::string& request, int patience, ControlFields* answer) {
  std::string text;
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) == ssize_t(request.size())) {
    char buffer[4096];
    for (pollfd wait = {fd, POLLIN, 0}; poll(&wait, 1, patience == kForEver ? -1 : patience * 1000) > 0;) {
      const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      text.append(buffer, size_t(n));
    }
  }
  close(fd);
  std::istringstream in(text);
  *answer = from_text(in);
  return !answer->empty();
}

}  // namespace

std::string control_directory(bool create) {
  std::vector<std::string> places;
  if (geteuid() == 0) {
    places = {"/run/fsshim"};
  } else {
    if (const char* runtime = getenv("XDG_RUNTIME_DIR")) places.push_back(std::string(runtime) + "/fsshim");
    std::string uid = std::to_string(geteuid());
    places.push_back("/run/user/" + uid + "/fsshim");
    places.push_back("/tmp/fsshim-" + uid);
  }
  for (const std::string& place : places)
    if (own_private_directory(place, create)) return place;
  return {};
}

ControlServer::ControlServer(const ControlFields& info)
    : directory_(control_directory(true)),
      name_(std::to_string(getpid())),
      directory_fd_(open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      info_(info) {
  if (directory_fd_ < 0) throw Fail("no private directory for the control socket: set XDG_RUNTIME_DIR");
  for (FoundCapture& other : find_captures(0))
    if (!other.alive && other.info["directory"] == escape_text(info.at("directory"))) forget_capture(other.pid);
  sockaddr_un address = address_of(directory_ + "/" + name_ + ".sock");
  unlink(address.sun_path);
  listen_fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listen_fd_ < 0 || bind(listen_fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      chmod(address.sun_path, 0600) != 0 || listen(listen_fd_, 8) != 0)
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

void ControlServer::tell(const std::string& key, const std::string& value) {
  info_[key] = value;
  const std::string next = name_ + ".next";
  write_info(next);
  renameat(directory_fd_, next.c_str(), directory_fd_, (name_ + ".info").c_str());
}

ControlServer::~ControlServer() {
  if (listen_fd_ >= 0) close(listen_fd_);
  for (const char* kind : {".sock", ".info"}) unlinkat(directory_fd_, (name_ + kind).c_str(), 0);
  close(directory_fd_);
}

std::string ControlServer::accept(int* client) {
  *client = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC);
  if (*client < 0) return {};
  ucred peer = {};
  socklen_t size = sizeof peer;
  timeval limit = {1, 0};
  char text[32];
  ssize_t n = -1;
  if (getsockopt(*client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == geteuid() || peer.uid == 0) &&
      setsockopt(*client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0)
    n = recv(*client, text, sizeof text, 0);
  if (n <= 0) {
    close(*client);
    return {};
  }
  return {text, size_t(n)};
}

void ControlServer::reply(int client, const ControlFields& fields) {
  std::string text = to_text(fields);
  (void)!send(client, text.data(), text.size(), MSG_NOSIGNAL);
  close(client);
}

std::vector<FoundCapture> find_captures(int patience) {
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
    if (const int fd = connect_to(capture.pid); fd >= 0) {
      capture.alive = true;
      capture.answered = patience > 0 && ask(fd, "status", patience, &answer);
    }
    capture.info["state"] = capture.alive ? "silent" : "died";
    for (auto& [key, value] : answer) capture.info[key] = value;
    found.push_back(capture);
  }
  closedir(dir);
  return found;
}

std::vector<FoundCapture> find_captures_of(const std::string& directory) {
  const std::optional<MountEntry> top = mount_at(directory);
  const std::string device = top && top->type == kMountType ? std::to_string(top->dev) : std::string();
  std::vector<FoundCapture> by_device, by_name;
  for (FoundCapture& capture : find_captures()) {
    if (!device.empty() && capture.info["device"] == device) by_device.push_back(capture);
    if (capture.info["directory"] == escape_text(directory)) by_name.push_back(capture);
  }
  return by_device.empty() ? by_name : by_device;
}

bool ask_capture(pid_t pid, const std::string& request, ControlFields* answer) {
  const int fd = connect_to(pid);
  return fd >= 0 && ask(fd, request, kForEver, answer);
}

void forget_capture(pid_t pid) {
  std::string base = control_directory(false) + "/" + std::to_string(pid);
  unlink((base + ".sock").c_str());
  unlink((base + ".info").c_str());
}

}  // namespace fsr::shim
