// SPDX-License-Identifier: Apache-2.0
#include "actor.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <vector>

#include "tree.hpp"

namespace differential {

namespace {

constexpr uint32_t kStop = UINT32_MAX;
constexpr uid_t kNamespaceOwner = 1003;
const char* const kNames[kRoles] = {"root",          "user", "other", "root-without-capabilities", "user-with-capabilities",
                                    "namespace-root"};

void wait_until_set(std::atomic<uint32_t>& word) {
  while (word.load() == 0) syscall(SYS_futex, &word, FUTEX_WAIT, 0, nullptr, nullptr, 0);
}

void set(std::atomic<uint32_t>& word, uint32_t value) {
  word.store(value);
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Gives the turn to the actor of the next op that has one. False when that is `self`, whose turn *i then is.
bool pass_on(Side& side, const Sequence& sequence, uint32_t* i, int self) {
  for (; *i < sequence.count; ++*i) {
    int next = sequence.ops[*i].actor;
    if (next == self) return false;
    if (side.alive[next].load()) {
      set(side.go[next], *i + 1);
      return true;
    }
    side.results[*i].skipped = 1;
  }
  set(side.done, 1);
  return true;
}

bool set_capabilities(uint64_t all) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2];
  for (int i = 0; i < 2; ++i) data[i].effective = data[i].permitted = data[i].inheritable = uint32_t(all >> (32 * i));
  return syscall(SYS_capset, &header, data) == 0;
}

bool become(uid_t uid, gid_t gid, const std::vector<gid_t>& groups) {
  return setgroups(groups.size(), groups.data()) == 0 && setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0;
}

bool become_user_with(int capability) {
  prctl(PR_SET_KEEPCAPS, 1);
  return become(1002, 1002, {1002}) && set_capabilities(1ull << capability) &&
         prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) == 0;
}

bool write_file(const std::string& path, const std::string& text) {
  int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  bool fine = fd >= 0 && write(fd, text.data(), text.size()) == ssize_t(text.size());
  if (fd >= 0) close(fd);
  return fine;
}

// A child that only writes the maps, because that takes rights in the outer namespace.
bool enter_user_namespace() {
  int ready[2];
  if (pipe(ready) != 0) return false;
  pid_t me = getpid(), helper = fork();
  char byte = 0;
  if (helper == 0) {
    if (read(ready[0], &byte, 1) != 1) _exit(1);
    std::string proc = "/proc/" + std::to_string(me), map = "0 1003 1\n1 101000 10\n";
    _exit(write_file(proc + "/uid_map", map) && write_file(proc + "/gid_map", map) ? 0 : 1);
  }
  bool fine = helper > 0 && become(kNamespaceOwner, kNamespaceOwner, {}) && prctl(PR_SET_DUMPABLE, 1) == 0 &&
              unshare(CLONE_NEWUSER) == 0 && write(ready[1], &byte, 1) == 1;
  int status = 1;
  waitpid(helper, &status, 0);
  for (int fd : ready) close(fd);
  return fine && status == 0;
}

bool take_role(int role, const char* directory) {
  if (role == kNamespaceRoot && !enter_user_namespace()) return false;
  if (chroot(directory) != 0 || chdir("/") != 0) return false;
  umask(022);
  switch (role) {
    case kUser:
      return become(1000, 1000, {1000, 2000});
    case kOther:
      return become(1001, 1001, {2000});
    case kRootWithout:
      return prctl(PR_SET_SECUREBITS, SECBIT_NOROOT) == 0 && set_capabilities(0);
    case kUserWith:
      return become_user_with(CAP_DAC_OVERRIDE);
    default:
      return true;
  }
}

void start_actor(Side& side, const Sequence& sequence, int role, const char* directory) {
  Process process;
  process.side = &side;
  process.sequence = &sequence;
  process.self = role;
  for (int& fd : process.files) fd = -1;
  for (int& fd : process.watches) fd = -1;
  process.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (int s : {SIGPIPE, SIGXFSZ, SIGIO}) signal(s, SIG_IGN);
  if (!take_role(role, directory)) {
    snprintf(side.trouble, sizeof side.trouble, "%s: can't become so: %s", kNames[role], strerror(errno));
    _exit(1);
  }
  process.act();
}

void reap_all() {
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
}

}  // namespace

std::string actor_name(int actor) { return actor < kRoles ? kNames[actor] : "child-" + std::to_string(actor); }

int find_actor(const std::string& name) {
  for (int i = 0; i < kActors; ++i) {
    if (actor_name(i) == name) return i;
  }
  return -1;
}

int64_t Process::on_directory(int64_t slot, int64_t whence) const {
  struct stat s;
  if (whence == SEEK_SET || fstat(fd(slot), &s) != 0 || !S_ISDIR(s.st_mode)) return 0;
  return whence == SEEK_CUR ? 2 : 1;
}

bool Process::has_set_id(int64_t slot) const {
  struct stat s;
  return fstat(fd(slot), &s) == 0 && (s.st_mode & (S_ISUID | S_ISGID)) != 0;
}

void Process::close_slot(int64_t slot) {
  if (files[slot] >= 0) close(files[slot]);
  files[slot] = -1;
}

void Process::put(int64_t slot, int fd, Result& result) {
  result.value = fd < 0 ? -1 : 0;
  if (fd < 0) {
    result.error = errno;
    return;
  }
  close_slot(slot);
  files[slot] = fd;
}

void Process::close_all() {
  for (int slot = 0; slot < kSlots; ++slot) close_slot(slot);
  for (Map& map : maps) {
    if (map.begin != nullptr) munmap(map.begin, map.length);
    map = {};
  }
}

int64_t Process::recent(int64_t seconds, int64_t nanoseconds) const {
  if (seconds >= side->began - 2 && seconds < side->began + 1000) return 1;
  return seconds * 1'000'000'000 + nanoseconds;
}

void Process::act() {
  for (;;) {
    wait_until_set(side->go[self]);
    uint32_t i = side->go[self].exchange(0);
    if (i == kStop) _exit(0);
    --i;
    do {
      op = i;
      side->at.store(i);
      const Op& todo = sequence->ops[i];
      Result& result = side->results[i];
      calls()[todo.call].run(*this, todo.args.data(), result);
      ++i;
    } while (!pass_on(*side, *sequence, &i, self));
  }
}

void run_side(Side& side, const Sequence& sequence, const char* directory, const char* beneath) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  umask(0);
  // Mount points are older than the sequence, and count as new for a quarter of an hour.
  side.began = time(nullptr) - (sequence.mounts ? 900 : 0);
  if (sequence.mounts) empty_tree(directory);
  if (!sequence.mounts && mkdir(directory, 0777) != 0) {
    snprintf(side.trouble, sizeof side.trouble, "%s: %s", directory, strerror(errno));
  } else {
    bool needed[kRoles] = {};
    for (uint32_t i = 0; i < sequence.count; ++i) {
      if (sequence.ops[i].actor < kRoles) needed[sequence.ops[i].actor] = true;
    }
    for (int role = 0; role < kRoles; ++role) {
      if (!needed[role]) continue;
      side.alive[role].store(1);
      const pid_t pid = fork();
      if (pid == 0) start_actor(side, sequence, role, role == sequence.outside && beneath != nullptr ? beneath : directory);
      side.pids[role] = pid;
    }
    uint32_t first = 0;
    pass_on(side, sequence, &first, -1);
    wait_until_set(side.done);
    for (auto& go : side.go) set(go, kStop);
    reap_all();
    describe_tree(directory, side.began, side.tree, sizeof side.tree);
    if (beneath != nullptr) describe_tree(beneath, side.began, side.beneath, sizeof side.beneath);
    std::string left = sequence.mounts ? empty_tree(directory) : remove_tree(directory);
    if (!left.empty()) snprintf(side.trouble, sizeof side.trouble, "can't be removed: %s", left.c_str());
  }
  side.finished.store(1);
}

}  // namespace differential
