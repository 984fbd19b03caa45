// SPDX-License-Identifier: Apache-2.0
#include "process_barrier.hpp"

#include <fmt/format.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace fsr::fsbench {

namespace {

constexpr key_t kKey = 4711;  // that of bonnie++

class Prompt final : public ProcessBarrier {
 public:
  std::string meet(bonnie::Phase phase) override {
    fmt::print("\n{}:\n", unsigned(phase));
    fflush(stdout);
    for (int c = getchar(); c != '\n'; c = getchar())
      if (c == EOF) return "standard input ended before the test could start";
    return "";
  }
};

// Semaphores, one for each test; each counts down from the number of processes to 0.
class Semaphores final : public ProcessBarrier {
 public:
  Semaphores() : id_(semget(kKey, bonnie::kPhases, 0)) {
    if (id_ == -1)
      throw std::runtime_error(fmt::format("no semaphores to wait at: {}; create semaphores with -p N", strerror(errno)));
  }
  std::string meet(bonnie::Phase phase) override {
    sembuf take{.sem_num = static_cast<unsigned short>(phase), .sem_op = -1, .sem_flg = IPC_NOWAIT};
    sembuf wait{.sem_num = take.sem_num, .sem_op = 0, .sem_flg = 0};
    if (semop(id_, &take, 1) == -1)
      return "more processes meet than the semaphores are for; give -p N the number of all processes";
    while (semop(id_, &wait, 1) == -1)
      if (errno != EINTR) return fmt::format("the semaphores: {}", strerror(errno));
    return "";
  }

 private:
  const int id_;
};

}  // namespace

std::unique_ptr<ProcessBarrier> make_meeting(const std::string& kind) {
  if (kind == "p") return std::make_unique<Prompt>();
  return std::make_unique<Semaphores>();
}

void set_semaphores(int processes) {
  const int id = semget(kKey, processes == -1 ? 1 : int(bonnie::kPhases), processes == -1 ? 0 : IPC_CREAT | 0666);
  if (id == -1) throw std::runtime_error(fmt::format("semaphores: {}", strerror(errno)));
  if (processes == -1) {
    if (semctl(id, 0, IPC_RMID) == -1) throw std::runtime_error(fmt::format("can't remove the semaphores: {}", strerror(errno)));
    puts("Semaphore removed.");
    return;
  }
  for (int i = 0; i < int(bonnie::kPhases); ++i)
    if (semctl(id, i, SETVAL, processes) == -1)
      throw std::runtime_error(fmt::format("can't set the semaphores: {}", strerror(errno)));
  fmt::print("Creating semaphore for {} procs.\n", processes);
}

}  // namespace fsr::fsbench
