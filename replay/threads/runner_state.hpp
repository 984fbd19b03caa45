// SPDX-License-Identifier: Apache-2.0
// What the threads and workers of one run share. Lives as long as the run.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace fsr {

class Barrier;
class Clock;
class Heartbeat;
class Pool;
class Recording;
class RunnerWorker;

struct RunnerState {
  Clock& clock;
  std::vector<std::vector<std::unique_ptr<RunnerWorker>>>& worker_sets;
  Pool& pool;
  std::atomic<uint64_t>& next_id;  // of objects and handles
  Recording* record = nullptr;
  Heartbeat* heartbeat = nullptr;
  int64_t start = 0, end = INT64_MAX;    // clock; set before threads begin. They are told to end at `end`
  std::atomic<bool> ended{false};        // they are told to end now
  std::atomic<bool> abandoned{false};    // nothing under way is waited for
  std::atomic<unsigned> running{0};      // threads that have not ended
  std::atomic<unsigned> at_barriers{0};  // of these, waiting for others

  std::mutex mutex;
  std::set<Barrier*> barriers;  // at which threads have waited
  std::exception_ptr failure;   // the first

  // Tells all threads to end, ones that wait at barriers too. Any thread.
  void end_all();
  // A thread has ended, with an exception or null. Its own thread.
  void thread_ended(std::exception_ptr why);
};

}  // namespace fsr
