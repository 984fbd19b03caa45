// SPDX-License-Identifier: Apache-2.0
#include "start_times.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "capture_error.hpp"
#include "helper_process.hpp"

namespace fsr::shim {

namespace {

struct Answer {
  pid_t tid;
  uint64_t ticks;
};

// 0: the thread is gone.
uint64_t ticks_of(pid_t tid) {
  char path[48], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", int(tid));
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (n <= 0) return 0;
  text[n] = 0;
  // Fields 3.. follow the command, which may hold anything.
  const char* p = strrchr(text, ')');
  for (int field = 3; p && field <= 22; ++field)
    if ((p = strchr(p, ' '))) ++p;
  return p ? strtoull(p, nullptr, 10) : 0;
}

void answer_all(int questions, int answers) {
  pid_t tid;
  while (read(questions, &tid, sizeof tid) == ssize_t(sizeof tid)) {
    const Answer answer{tid, ticks_of(tid)};
    if (answer.ticks != 0 && write(answers, &answer, sizeof answer) != ssize_t(sizeof answer)) return;
  }
}

}  // namespace

StartTimes::StartTimes() {
  int questions[2], answers[2];
  if (pipe2(questions, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) throw failed("pipe", errno);
  if (start_helper({questions[0], answers[1]}, [&] { answer_all(questions[0], answers[1]); }) < 0) throw failed("fork", errno);
  close(questions[0]);
  close(answers[1]);
  questions_ = questions[1];
  answers_ = answers[0];
  for (int fd : {questions_, answers_}) fcntl(fd, F_SETFL, O_NONBLOCK);
}

StartTimes::~StartTimes() {
  close(questions_);
  close(answers_);
}

void StartTimes::ask(pid_t tid) { (void)!write(questions_, &tid, sizeof tid); }

void StartTimes::take(const std::function<void(pid_t, uint64_t)>& receive) {
  for (Answer answer; read(answers_, &answer, sizeof answer) == ssize_t(sizeof answer);) receive(answer.tid, answer.ticks);
}

}  // namespace fsr::shim
