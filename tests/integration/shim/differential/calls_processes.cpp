// SPDX-License-Identifier: Apache-2.0
// What belongs to a process: children, working directory, identity, limits, execution.
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "actor.hpp"
#include "program.hpp"

namespace differential {

namespace {

const Kind kUmask{"umask", {{022, nullptr}, {0, nullptr}, {077, nullptr}, {027, nullptr}}};
const Kind kEffective{"uid", {{0, nullptr}, {1000, nullptr}, {1001, nullptr}, {1002, nullptr}}};
const Kind kGroups{"groups", {{0, "none"}, {1, "1000"}, {2, "2000"}, {3, "1000,2000"}}};
const Kind kLimit{"limit", {{-1, nullptr}, {5000, nullptr}, {0, nullptr}}};

// A child with copies of everything that takes turns as an actor of its own.
void fork_(Process& p, const int64_t* a, Result& r) {
  int child = int(a[0]);
  if (p.side->alive[child].load()) {
    r.error = EEXIST;
    return;
  }
  pid_t pid = fork();
  if (pid == 0) {
    p.self = child;
    p.act();
  }
  if (!answer(r, pid)) return;
  r.value = 0;
  p.side->pids[child] = pid;
  p.side->alive[child].store(1);
}

// As the end of a process does.
void close_all(Process& p, const int64_t*, Result&) { p.close_all(); }

void chdir_(Process& p, const int64_t* a, Result& r) { answer(r, chdir(path_text(a[0]))); }
void fchdir_(Process& p, const int64_t* a, Result& r) { answer(r, fchdir(p.fd(a[0]))); }
void back(Process&, const int64_t*, Result& r) { answer(r, chdir("/")); }

void getcwd_(Process& p, const int64_t* a, Result& r) {
  char name[5000];
  if (answer(r, syscall(SYS_getcwd, name, sizeof name))) r.say(name);
}

void umask_(Process& p, const int64_t* a, Result& r) { r.value = umask(mode_t(a[0])); }

// Of this process alone; the saved identity leads back.
void seteuid_(Process& p, const int64_t* a, Result& r) { answer(r, syscall(SYS_setresuid, -1, uid_t(a[0]), -1)); }
void setfsuid_(Process& p, const int64_t* a, Result& r) { r.value = setfsuid(uid_t(a[0])); }
void setegid_(Process& p, const int64_t* a, Result& r) { answer(r, syscall(SYS_setresgid, -1, gid_t(a[0]), -1)); }

void setgroups_(Process& p, const int64_t* a, Result& r) {
  static const gid_t groups[4][2] = {{0, 0}, {1000, 0}, {2000, 0}, {1000, 2000}};
  answer(r, syscall(SYS_setgroups, a[0] == 0 ? 0 : a[0] == 3 ? 2 : 1, groups[a[0]]));
}

void limit_size(Process& p, const int64_t* a, Result& r) {
  rlimit limit{rlim_t(a[0]), RLIM_INFINITY};
  answer(r, setrlimit(RLIMIT_FSIZE, &limit));
}

// A small program: says with its status who it runs as.
void put_program(Process& p, const int64_t* a, Result& r) {
  int fd = openat(AT_FDCWD, path_text(a[0]), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, mode_t(a[1]));
  if (!answer(r, fd)) return;
  Program program = make_program();
  answer(r, write(fd, &program, sizeof program));
  close(fd);
}

void exec_child(Process& p, int fd, const char* path, int flags, int report) {
  char* const none[] = {nullptr};
  syscall(SYS_execveat, fd, path, none, none, flags);
  int error = errno;
  _exit(write(report, &error, sizeof error) == sizeof error ? 0 : 1);
}

void exec_file(Process& p, int fd, const char* path, int flags, Result& r) {
  int report[2], status = 0, error = 0;
  if (pipe2(report, O_CLOEXEC) != 0) return;
  pid_t pid = fork();
  if (pid == 0) exec_child(p, fd, path, flags, report[1]);
  close(report[1]);
  if (read(report[0], &error, sizeof error) == sizeof error) r.error = error;
  close(report[0]);
  waitpid(pid, &status, 0);
  r.value = status;
}

void execveat_(Process& p, const int64_t* a, Result& r) { exec_file(p, p.fd(a[0]), path_text(a[1]), int(a[2]), r); }

}  // namespace

void add_process_calls(std::vector<Call>& calls) {
  calls.push_back({"fork", 6, {&kNewActor}, fork_});
  calls.push_back({"close-all", 2, {}, close_all});
  calls.push_back({"chdir", 6, {&kPath}, chdir_});
  calls.push_back({"fchdir", 3, {&kSlot}, fchdir_});
  calls.push_back({"chdir-to-root", 5, {}, back});
  calls.push_back({"getcwd", 4, {}, getcwd_});
  calls.push_back({"umask", 4, {&kUmask}, umask_});
  calls.push_back({"seteuid", 4, {&kEffective}, seteuid_});
  calls.push_back({"setfsuid", 3, {&kEffective}, setfsuid_, "capabilities"});
  calls.push_back({"setegid", 2, {&kEffective}, setegid_});
  calls.push_back({"setgroups", 2, {&kGroups}, setgroups_});
  calls.push_back({"limit-size", 1, {&kLimit}, limit_size});
  calls.push_back({"put-program", 4, {&kPath, &kMode}, put_program, "exec"});
  calls.push_back({"execveat", 6, {&kDirectory, &kPath, &kAtFlags}, execveat_, "exec"});
}

}  // namespace differential
