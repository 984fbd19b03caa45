// SPDX-License-Identifier: Apache-2.0
// Opening and closing.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "actor.hpp"

namespace differential {

namespace {

const Kind kOpenFlags{"flags",
                      {{O_RDONLY, "O_RDONLY"},
                       {O_RDWR, "O_RDWR"},
                       {O_RDWR, "O_RDWR"},
                       {O_WRONLY, "O_WRONLY"},
                       {O_RDWR | O_CREAT, "O_RDWR|O_CREAT"},
                       {O_RDWR | O_CREAT, "O_RDWR|O_CREAT"},
                       {O_WRONLY | O_CREAT, "O_WRONLY|O_CREAT"},
                       {O_RDONLY | O_CREAT, "O_RDONLY|O_CREAT"},
                       {O_RDONLY | O_DIRECTORY, "O_RDONLY|O_DIRECTORY"},
                       {O_PATH, "O_PATH"},
                       {O_PATH | O_NOFOLLOW, "O_PATH|O_NOFOLLOW"},
                       {O_RDWR | O_TMPFILE, "O_RDWR|O_TMPFILE"},
                       {O_WRONLY | O_TMPFILE | O_EXCL, "O_WRONLY|O_TMPFILE|O_EXCL"},
                       {3, "3"}},
                      {{O_SYNC, "O_SYNC"},
                       {O_DSYNC, "O_DSYNC"},
                       {O_APPEND, "O_APPEND"},
                       {O_TRUNC, "O_TRUNC"},
                       {O_EXCL, "O_EXCL"},
                       {O_NOFOLLOW, "O_NOFOLLOW"},
                       {O_NOATIME, "O_NOATIME"},
                       {O_DIRECT, "O_DIRECT"}},
                      9};
const Kind kStatusFlags{"flags", {{0, "0"}}, {{O_APPEND, "O_APPEND"}, {O_DIRECT, "O_DIRECT"}, {O_NOATIME, "O_NOATIME"}}, 30};
const Kind kResolve{"resolve",
                    {{0, "0"}},
                    {{RESOLVE_NO_XDEV, "RESOLVE_NO_XDEV"},
                     {RESOLVE_NO_MAGICLINKS, "RESOLVE_NO_MAGICLINKS"},
                     {RESOLVE_NO_SYMLINKS, "RESOLVE_NO_SYMLINKS"},
                     {RESOLVE_BENEATH, "RESOLVE_BENEATH"},
                     {RESOLVE_IN_ROOT, "RESOLVE_IN_ROOT"}},
                    15};

// FIFOs must not block, and no descriptor outlives an exec.
constexpr int kAlways = O_NONBLOCK | O_CLOEXEC;

void openat_(Process& p, const int64_t* a, Result& r) {
  p.put(a[0], openat(p.fd(a[1]), path_text(a[2]), int(a[3]) | kAlways, mode_t(a[4])), r);
}

void openat2_(Process& p, const int64_t* a, Result& r) {
  open_how how{uint64_t(a[3]) | ((a[3] & O_PATH) != 0 ? O_CLOEXEC : kAlways), uint64_t(a[4]), uint64_t(a[5])};
  // EAGAIN: somebody on this machine renamed something meanwhile, or a lease is in the way.
  int fd = -1;
  errno = EAGAIN;
  for (int tries = 0; tries < 50 && fd < 0 && errno == EAGAIN; ++tries)
    fd = int(syscall(SYS_openat2, p.fd(a[1]), path_text(a[2]), &how, sizeof how));
  p.put(a[0], fd, r);
}

std::string proc_name(const Process& p, int64_t slot) { return "self/fd/" + std::to_string(p.fd(slot)); }

void reopen(Process& p, const int64_t* a, Result& r) {
  p.put(a[0], openat(p.proc_fd, proc_name(p, a[1]).c_str(), int(a[2]) | kAlways, 0600), r);
}

// The name of a file by what is open: where the kernel believes it to be.
void name_of_open(Process& p, const int64_t* a, Result& r) {
  char name[5000];
  ssize_t n = readlinkat(p.proc_fd, proc_name(p, a[0]).c_str(), name, sizeof name);
  if (!answer(r, n)) return;
  std::string text(name, size_t(n));
  bool comparable = text.starts_with("/") && text.find("/#") == std::string::npos;  // not: numbers of pipes, unnamed files
  r.value = 0;
  if (comparable && !text.ends_with("// (deleted)")) r.say(text);
}

void open_by_handle(Process& p, const int64_t* a, Result& r) {
  alignas(file_handle) char room[sizeof(file_handle) + MAX_HANDLE_SZ];
  auto* handle = reinterpret_cast<file_handle*>(room);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount;
  if (!answer(r, name_to_handle_at(p.fd(a[1]), "", handle, &mount, AT_EMPTY_PATH))) return;
  p.put(a[0], open_by_handle_at(p.fd(a[1]), handle, int(a[2]) | kAlways), r);
}

void close_(Process& p, const int64_t* a, Result& r) {
  answer(r, close(p.fd(a[0])));
  p.files[a[0]] = -1;
}

void dup_(Process& p, const int64_t* a, Result& r) { p.put(a[0], fcntl(p.fd(a[1]), F_DUPFD_CLOEXEC, 0), r); }

void setfl(Process& p, const int64_t* a, Result& r) { answer(r, fcntl(p.fd(a[0]), F_SETFL, int(a[1]) | O_NONBLOCK)); }

void getfl(Process& p, const int64_t* a, Result& r) { answer(r, fcntl(p.fd(a[0]), F_GETFL)); }

}  // namespace

void add_file_calls(std::vector<Call>& calls) {
  calls.push_back({"openat", 120, {&kNewSlot, &kDirectory, &kPath, &kOpenFlags, &kMode}, openat_});
  calls.push_back({"openat2", 10, {&kNewSlot, &kDirectory, &kPath, &kOpenFlags, &kMode, &kResolve}, openat2_});
  calls.push_back({"reopen", 10, {&kNewSlot, &kSlot, &kOpenFlags}, reopen});
  calls.push_back({"name-of-open", 4, {&kSlot}, name_of_open});
  calls.push_back({"open-by-handle", 4, {&kNewSlot, &kSlot, &kOpenFlags}, open_by_handle});
  calls.push_back({"close", 20, {&kSlot}, close_});
  calls.push_back({"dup", 8, {&kNewSlot, &kSlot}, dup_});
  calls.push_back({"F_SETFL", 6, {&kSlot, &kStatusFlags}, setfl});
  calls.push_back({"F_GETFL", 4, {&kSlot}, getfl});
}

}  // namespace differential
