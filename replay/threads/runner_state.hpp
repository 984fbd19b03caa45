// SPDX-License-Identifier: Apache-2.0
// State that the simulated threads and the workers of one run share. Lives as long as the run.
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
  std::atomic<uint64_t>& next_id;  // the next id of an object or a handle
  Recording* record = nullptr;
  Heartbeat* heartbeat = nullptr;
  int64_t start = 0, end = INT64_MAX;    // clock; set before the threads begin, which end at `end`
  std::atomic<bool> ended{false};        // the threads are to end now
  std::atomic<bool> abandoned{false};    // the run ends without the operations in flight
  std::atomic<unsigned> running{0};      // threads that have not ended
  std::atomic<unsigned> at_barriers{0};  // threads that wait at a barrier

  std::mutex mutex;
  std::set<Barrier*> barriers;  // all at which a thread has waited
  std::exception_ptr failure;   // of the first thread that threw

  // Makes all threads end, also those that wait at barriers. Any thread.
  void end_all();
  // Notes that a thread has ended. `why`: the exception that it threw, or null. Called by the worker of that thread.
  void thread_ended(std::exception_ptr why);
};

}  // namespace fsr
