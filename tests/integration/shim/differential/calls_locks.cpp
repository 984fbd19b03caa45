// SPDX-License-Identifier: Apache-2.0
// Locks and leases, none of which waits.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "actor.hpp"

namespace differential {

namespace {

const Kind kType{"type", {{F_RDLCK, "F_RDLCK"}, {F_WRLCK, "F_WRLCK"}, {F_WRLCK, "F_WRLCK"}, {F_UNLCK, "F_UNLCK"}, {7, "7"}}};
const Kind kSet{"command", {{F_SETLK, "F_SETLK"}, {F_SETLK, "F_SETLK"}, {F_OFD_SETLK, "F_OFD_SETLK"}}};
const Kind kGet{"command", {{F_GETLK, "F_GETLK"}, {F_OFD_GETLK, "F_OFD_GETLK"}}};
const Kind kWhence{"whence",
                   {{SEEK_SET, "SEEK_SET"}, {SEEK_SET, "SEEK_SET"}, {SEEK_CUR, "SEEK_CUR"}, {SEEK_END, "SEEK_END"}, {9, "9"}}};
const Kind kStart{"start",
                  {{0, nullptr}, {0, nullptr}, {1, nullptr}, {10, nullptr}, {100, nullptr}, {-1, nullptr}, {INT64_MAX, nullptr}}};
const Kind kCount{"count", {{0, nullptr}, {1, nullptr}, {9, nullptr}, {50, nullptr}, {-1, nullptr}, {INT64_MAX, nullptr}}};
const Kind kFlock{"operation", {{LOCK_SH, "LOCK_SH"}, {LOCK_EX, "LOCK_EX"}, {LOCK_UN, "LOCK_UN"}, {0, "0"}}};
const Kind kLease{"type", {{F_RDLCK, "F_RDLCK"}, {F_WRLCK, "F_WRLCK"}}};

struct flock lock_of(const int64_t* a) {
  struct flock lock = {};
  lock.l_type = short(a[2]);
  lock.l_whence = short(a[3]);
  lock.l_start = a[4];
  lock.l_len = a[5];
  return lock;
}

void set_lock(Process& p, const int64_t* a, Result& r) {
  struct flock lock = lock_of(a);
  answer(r, fcntl(p.fd(a[0]), int(a[1]), &lock));
  r.fields[kOnDirectory] = p.on_directory(a[0], lock.l_whence);
}

int64_t holder(const Process& p, pid_t pid) {
  for (int i = 0; i < kActors; ++i) {
    if (p.side->pids[i] == pid) return i + 1;
  }
  return pid > 0 ? 1000 : pid;
}

void get_lock(Process& p, const int64_t* a, Result& r) {
  struct flock lock = lock_of(a);
  r.fields[kOnDirectory] = p.on_directory(a[0], lock.l_whence);
  if (!answer(r, fcntl(p.fd(a[0]), int(a[1]), &lock))) return;
  const int64_t found[] = {lock.l_type, lock.l_whence, lock.l_start, lock.l_len,
                           lock.l_type == F_UNLCK ? 0 : holder(p, lock.l_pid)};
  std::copy(std::begin(found), std::end(found), r.fields.begin());
}

void flock_(Process& p, const int64_t* a, Result& r) { answer(r, flock(p.fd(a[0]), int(a[1]) | LOCK_NB)); }

// Taken and given back at once: while one is held, others' opens would wait for its holder.
void lease(Process& p, const int64_t* a, Result& r) {
  int fd = p.fd(a[0]);
  if (!answer(r, fcntl(fd, F_SETLEASE, int(a[1])))) return;
  r.fields[0] = fcntl(fd, F_GETLEASE);
  answer(r, fcntl(fd, F_SETLEASE, F_UNLCK));
}

}  // namespace

void add_lock_calls(std::vector<Call>& calls) {
  calls.push_back({"set-lock", 20, {&kSlot, &kSet, &kType, &kWhence, &kStart, &kCount}, set_lock});
  calls.push_back({"get-lock", 12, {&kSlot, &kGet, &kType, &kWhence, &kStart, &kCount}, get_lock});
  calls.push_back({"flock", 12, {&kSlot, &kFlock}, flock_});
  calls.push_back({"lease", 4, {&kSlot, &kLease}, lease, "leases"});
}

}  // namespace differential
