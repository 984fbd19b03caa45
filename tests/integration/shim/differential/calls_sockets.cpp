// SPDX-License-Identifier: Apache-2.0
// UNIX sockets in the directory, and watching what happens there.
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "actor.hpp"

namespace differential {

namespace {

const Kind kType{"type", {{SOCK_STREAM, "SOCK_STREAM"}, {SOCK_DGRAM, "SOCK_DGRAM"}}};
const Kind kWatch{"watch", {{0, nullptr}, {1, nullptr}}};
const Kind kEvents{"mask",
                   {{IN_ALL_EVENTS, "IN_ALL_EVENTS"},
                    {IN_CREATE | IN_DELETE | IN_MOVE, "IN_CREATE|IN_DELETE|IN_MOVE"},
                    {IN_MODIFY | IN_CLOSE_WRITE, "IN_MODIFY|IN_CLOSE_WRITE"},
                    {IN_ONLYDIR | IN_CREATE, "IN_ONLYDIR|IN_CREATE"}}};

// The address as it is named in a call, or 0 when the name is too long for one.
socklen_t address_of(int64_t path, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  size_t length = strlen(path_text(path));
  if (length == 0 || length >= sizeof address->sun_path) return 0;
  memcpy(address->sun_path, path_text(path), length);
  return socklen_t(sizeof *address);
}

void bind_(Process& p, const int64_t* a, Result& r) {
  sockaddr_un address;
  socklen_t size = address_of(a[1], &address);
  if (size == 0) return;
  int fd = socket(AF_UNIX, int(a[2]) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (!answer(r, bind(fd, reinterpret_cast<sockaddr*>(&address), size))) {
    close(fd);
    return;
  }
  if (a[2] == SOCK_STREAM) listen(fd, 10);
  p.put(a[0], fd, r);
}

void connect_(Process& p, const int64_t* a, Result& r) {
  sockaddr_un address;
  socklen_t size = address_of(a[0], &address);
  if (size == 0) return;
  int fd = socket(AF_UNIX, int(a[1]) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  answer(r, connect(fd, reinterpret_cast<sockaddr*>(&address), size));
  close(fd);
}

void watch(Process& p, const int64_t* a, Result& r) {
  int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (!answer(r, inotify_add_watch(fd, path_text(a[1]), uint32_t(a[2])))) {
    close(fd);
    return;
  }
  if (p.watches[a[0]] >= 0) close(p.watches[a[0]]);
  p.watches[a[0]] = fd;
}

// One event after the other, as far as they are there.
void events(Process& p, const int64_t* a, Result& r) {
  alignas(inotify_event) char buffer[16384];
  ssize_t n = read(p.watches[a[0]], buffer, sizeof buffer);
  if (!answer(r, n)) return;
  r.value = 0;
  for (ssize_t at = 0; at < n; ++r.value) {  // without their cookies
    auto* e = reinterpret_cast<inotify_event*>(buffer + at);
    char mask[16];
    snprintf(mask, sizeof mask, "%x", e->mask);
    const bool unnamed = e->len > 0 && (e->name[0] == '#' || e->name[0] == '/');  // the kernel calls it by a number or nothing
    r.say(std::string(mask) + (unnamed ? ":unnamed" : e->len > 0 ? ":" + std::string(e->name) : "") + " ");
    at += ssize_t(sizeof *e + e->len);
  }
}

}  // namespace

void add_socket_calls(std::vector<Call>& calls) {
  calls.push_back({"bind", 6, {&kNewSlot, &kPath, &kType}, bind_, "special-files"});
  calls.push_back({"connect", 8, {&kPath, &kType}, connect_, "special-files"});
  calls.push_back({"watch", 3, {&kWatch, &kPath, &kEvents}, watch, "watches"});
  calls.push_back({"events", 4, {&kWatch}, events, "watches"});
}

}  // namespace differential
