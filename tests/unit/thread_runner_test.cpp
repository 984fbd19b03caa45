// SPDX-License-Identifier: Apache-2.0
#include "threads/thread_runner.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "catch.hpp"
#include "engine/recording.hpp"
#include "measure/heartbeat.hpp"
#include "slow_target.hpp"
#include "threads/barrier.hpp"
#include "threads/sim_context.hpp"

namespace fsr::thread_runner_test {

namespace {

constexpr int64_t kMs = 1'000'000;

// A simulated thread whose body is a function. (Catch's macros evaluate an expression with co_await more than once.)
class Does final : public SimThread {
 public:
  explicit Does(std::function<SimTask(SimContext&)> body) : body_(std::move(body)) {}
  SimTask run(SimContext& sim) override { return body_(sim); }

 private:
  std::function<SimTask(SimContext&)> body_;
};

SimThreadSpec part(std::function<SimTask(SimContext&)> body, unsigned place = 0, unsigned group = 0) {
  return {std::make_unique<Does>(std::move(body)), place, group};
}

template <class... P>
std::vector<SimThreadSpec> parts(P... part) {
  std::vector<SimThreadSpec> all;
  (all.push_back(std::move(part)), ...);
  return all;
}

Op read_of(uint64_t stream) {
  Op op;
  op.kind = OpKind::read;
  op.thread = ThreadId(stream);
  op.length = op.result = 100;
  return op;
}

// A runner in virtual time, on a target whose operations take a given time.
struct Slow {
  VirtualClock clock;
  SlowTarget target{clock};
  ThreadRunner runner{clock, true};
  Slow() { runner.add(target); }
};

SimTask closed_loop(SimContext& sim, Row row, uint64_t stream, int times) {
  for (int i = 0; (times == 0 || i < times) && !sim.ended(); ++i) co_await sim.perform(read_of(stream), row);
}

}  // namespace

TEST_CASE("Each thread runs at its own speed") {
  Slow slow;
  slow.target.latency = [](const Op& op) { return op.thread == 1 ? 100 * kMs : kMs; };
  RunnerResult measured = slow.runner.run(parts(part([](SimContext& s) { return closed_loop(s, 0, 1, 0); }),
                                                part([](SimContext& s) { return closed_loop(s, 1, 2, 0); })),
                                          {.duration = 1000 * kMs});
  CHECK(measured.counts[0].count == 10);
  CHECK(measured.counts[1].count == 1000);
  CHECK(measured.counts[1].bytes == 100'000);
  CHECK(measured.ended - measured.started == 1000 * kMs);
  CHECK_FALSE(measured.stopped);
  CHECK(measured.abandoned == 0);
}

TEST_CASE("A response counts from the due time, a service time from the issue") {
  Slow slow;
  slow.target.latency = [](const Op&) { return 3 * kMs; };
  auto every_millisecond = [](SimContext& sim) -> SimTask {
    for (int i = 0; i < 4; ++i) {
      const int64_t due = sim.started() + i * kMs;
      const int64_t now = co_await sim.until(due);
      CHECK(now >= due);
      co_await sim.perform(read_of(1), 0, {.due = due});
    }
  };
  RunnerResult measured = slow.runner.run(parts(part(every_millisecond)), {});
  CHECK(measured.counts[0].service.max() == 3 * kMs);
  CHECK(measured.counts[0].response.min() == 3 * kMs);
  CHECK(measured.counts[0].response.max() == (3 + 3 * 2) * kMs);  // each begins 2 ms after the previous one
}

TEST_CASE("Phases begin when the slowest thread has arrived, and no thread waits for ever at the end") {
  Slow slow;
  slow.target.latency = [](const Op& op) { return int64_t(op.thread) * 10 * kMs; };
  Barrier barrier(2);
  std::vector<std::string> order;
  auto phases = [&](uint64_t stream) {
    return [&, stream](SimContext& sim) -> SimTask {
      co_await sim.perform(read_of(stream), 0);
      const bool met = co_await sim.arrive(barrier);
      CHECK(met);
      order.push_back("second " + std::to_string(sim.now() / kMs));
      co_await sim.perform(read_of(stream), 0);
      // The second stream arrives only after the run was told to end.
      if (stream == 2) co_await sim.until(1000 * kMs);
      const bool again = co_await sim.arrive(barrier);
      CHECK_FALSE(again);
      order.push_back("told to end");
    };
  };
  slow.runner.run(parts(part(phases(1)), part(phases(2))), {.duration = 100 * kMs});
  CHECK(order == std::vector<std::string>{"second 20", "second 20", "told to end", "told to end"});
}

TEST_CASE("A barrier does not wait for a party that has left") {
  Slow slow;
  slow.target.latency = [](const Op& op) { return int64_t(op.thread) * 10 * kMs; };
  Barrier barrier(2);
  std::vector<int64_t> met;
  auto meets = [&](SimContext& sim) -> SimTask {
    for (int i = 0; i < 3; ++i) {
      const bool together = co_await sim.arrive(barrier);
      CHECK(together);
      met.push_back(sim.now() / kMs);
    }
  };
  auto leaves = [&](SimContext& sim) -> SimTask {
    co_await sim.perform(read_of(2), 0);
    sim.leave(barrier);
  };
  slow.runner.run(parts(part(meets), part(leaves)), {});
  CHECK(met == std::vector<int64_t>{20, 20, 20});
}

TEST_CASE("A barrier that not all parties can reach is an error, not a hang") {
  Slow slow;
  Barrier barrier(3);
  auto arrive = [&](SimContext& sim) -> SimTask { co_await sim.arrive(barrier); };
  CHECK_THROWS_AS(slow.runner.run(parts(part(arrive), part(arrive)), {}), std::logic_error);
}

TEST_CASE("Intervals add up to the run, and neither includes the warmup") {
  Slow slow;
  slow.target.latency = [](const Op&) { return kMs; };
  std::vector<uint64_t> counts;
  std::vector<int64_t> ends;
  RunnerResult measured =
      slow.runner.run(parts(part([](SimContext& s) { return closed_loop(s, 0, 1, 0); })),
                      {.duration = 500 * kMs, .warmup = 100 * kMs, .interval = 150 * kMs, .on_interval = [&](const Interval& i) {
                         CHECK(i.number == counts.size() + 1);
                         counts.push_back(i.counts[0].count);
                         ends.push_back(i.to);
                         CHECK(i.last == (i.to == 500 * kMs));
                       }});
  CHECK(ends == std::vector<int64_t>{250 * kMs, 400 * kMs, 500 * kMs});
  CHECK(measured.counts[0].count == 400);
  CHECK(counts[0] + counts[1] + counts[2] == 400);
}

TEST_CASE("An expected error is no failure") {
  Slow slow;
  slow.target.latency = [](const Op&) { return kMs; };
  auto looks_up = [](SimContext& sim) -> SimTask {
    Op op;
    op.kind = OpKind::lookup;
    op.error = ENOENT;
    co_await sim.perform(op, 0);
  };
  const RunnerResult measured = slow.runner.run(parts(part(looks_up)), {});
  CHECK(measured.counts[0].count == 1);
  CHECK(measured.counts[0].failed == 0);
}

TEST_CASE("Time in which the program stood still is no service time, and stays in the response") {
  Slow slow;
  slow.target.latency = [](const Op&) { return 1200 * kMs; };
  Heartbeat heartbeat;
  heartbeat.begin(0);
  const RunnerResult measured =
      slow.runner.run(parts(part([](SimContext& s) { return closed_loop(s, 0, 1, 1); })), {.heartbeat = &heartbeat});
  CHECK(measured.counts[0].service.max() == 0);
  CHECK(measured.counts[0].response.max() == 1200 * kMs);
}

TEST_CASE("An exception of a thread ends the run, and run() throws this exception") {
  Slow slow;
  slow.target.latency = [](const Op&) { return kMs; };
  int rounds = 0;
  auto fails = [](SimContext& sim) -> SimTask {
    co_await sim.perform(read_of(1), 0);
    throw std::runtime_error("no more");
  };
  auto goes_on = [&](SimContext& sim) -> SimTask {
    for (; !sim.ended(); ++rounds) co_await sim.perform(read_of(2), 0);
  };
  CHECK_THROWS_WITH(slow.runner.run(parts(part(fails), part(goes_on)), {}), "no more");
  CHECK(rounds < 5);
  // The runner can be used again.
  CHECK(slow.runner.run(parts(part([](SimContext& s) { return closed_loop(s, 0, 1, 3); })), {}).counts[0].count == 3);
}

TEST_CASE("Operations that a target can't express, store or perform have an outcome") {
  Slow slow;
  slow.target.limit = 1;
  slow.target.latency = [](const Op&) { return kMs; };
  slow.target.answer = [](TargetRequest& r) {
    if (r.op->kind == OpKind::getattr) r.outcome.error = EIO;
  };
  auto body = [](SimContext& sim) -> SimTask {
    Op op;
    op.kind = OpKind::ioctl;
    const int inexpressible = (co_await sim.perform(op, 0)).error;
    CHECK(inexpressible == EOPNOTSUPP);
    op.kind = OpKind::getattr;
    const int failing = (co_await sim.perform(op, 1)).error;
    CHECK(failing == EIO);
    const int fine = (co_await sim.perform(read_of(1), 2)).error;
    CHECK(fine == 0);
  };
  RunnerResult measured = slow.runner.run(parts(part(body), part(body), part(body)), {});
  CHECK(measured.counts[0].failed == 3);
  CHECK(measured.counts[1].failed == 3);
  CHECK(measured.counts[1].count == 0);
  CHECK(measured.counts[2].count == 3);
  CHECK(measured.ended - measured.started == 6 * kMs);
}

TEST_CASE("A thread moves between targets and has its files on both") {
  VirtualClock clock;
  auto first = open_target("memory:", {.clock = &clock}), second = open_target("memory:", {.clock = &clock});
  ThreadRunner runner(clock, true);
  runner.add(*first);
  runner.add(*second);
  auto writes = [](SimContext& sim) -> SimTask {
    for (unsigned place : {1u, 0u}) {
      co_await sim.move_to(place);
      Op op;
      op.kind = OpKind::create;
      op.parent = kRootObject;
      op.name = "f";
      op.mode = 0644;
      op.open_flags = O_RDWR;
      op.object = sim.new_object();
      op.handle = sim.new_handle();
      const int error = (co_await sim.perform(op, place)).error;
      CHECK(error == 0);
    }
  };
  RunnerResult measured = runner.run(parts(part(writes)), {});
  CHECK(measured.counts[0].count == 1);
  CHECK(measured.counts[1].count == 1);
}

TEST_CASE("Single bytes are transferred within the call on a directory, as far as there are any") {
  std::string directory = std::filesystem::temp_directory_path() / "fsreplay-test.XXXXXX";
  REQUIRE(mkdtemp(directory.data()));
  VirtualClock clock;
  auto in_directory = open_target(directory, {.clock = &clock}), in_memory = open_target("memory:", {.clock = &clock});
  ThreadRunner runner(clock, true);
  runner.add(*in_directory);
  runner.add(*in_memory);
  std::vector<uint64_t> done;
  auto plays = [&](SimContext& sim) -> SimTask {
    for (unsigned place : {0u, 1u}) {
      co_await sim.move_to(place);
      const Op make{.kind = OpKind::create,
                    .mode = 0644,
                    .open_flags = O_RDWR,
                    .object = sim.new_object(),
                    .parent = kRootObject,
                    .handle = sim.new_handle(),
                    .name = "f"};
      const int error = (co_await sim.perform(make)).error;
      CHECK(error == 0);
      Op op{.kind = OpKind::write, .object = make.object, .handle = make.handle, .offset = 3, .length = 5};
      done.push_back(sim.perform_bytes(op, "bytes"));
      op.kind = OpKind::read;
      op.length = 100;
      done.push_back(sim.perform_bytes(op));
      op.handle = kMarkerObject;  // a handle that was never opened
      done.push_back(sim.perform_bytes(op));
    }
  };
  runner.run(parts(part(plays)), {});
  CHECK(done == std::vector<uint64_t>{5, 5, 0, 0, 0, 0});  // 0: the caller must perform the operation
  std::ifstream file(directory + "/f");
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == std::string("\0\0\0bytes", 8));
  std::filesystem::remove_all(directory);
}

TEST_CASE("A lone thread with times of its own performs requests by name within the call", "[threads]") {
  std::string directory = std::filesystem::temp_directory_path() / "fsreplay-test.XXXXXX";
  REQUIRE(mkdtemp(directory.data()));
  MonotonicClock clock;
  std::unique_ptr<Target> target = open_target("file:" + directory, {.clock = &clock});
  ThreadRunner runner(clock);
  runner.add(*target, 1);
  auto plays = [&](SimContext& sim) -> SimTask {
    Op make{.kind = OpKind::create, .mode = 0666, .open_flags = O_CREAT | O_EXCL | O_WRONLY, .parent = kRootObject, .name = "f"};
    Op look{.kind = OpKind::lookup, .parent = kRootObject, .name = "f"},
        remove{.kind = OpKind::unlink, .parent = kRootObject, .name = "f"};
    CHECK(sim.perform_by_name(look) == nullptr);  // the thread takes no times
    sim.takes_own_times();
    auto error_of = [&](const Op& op) {
      const Outcome* outcome = sim.perform_by_name(op);
      return outcome ? outcome->error : -1;
    };
    for (const ObjectId missing : {kNoObject, sim.new_object(), kNoObject}) {
      look.parent = missing;
      CHECK(error_of(look) == -1);
      const int error = (co_await sim.perform(look)).error;
      CHECK(error == ESTALE);
    }
    look.parent = kRootObject;
    CHECK(error_of(look) == ENOENT);
    CHECK(error_of(make) == 0);
    CHECK(error_of(make) == EEXIST);
    const Op mkdir{.kind = OpKind::mkdir, .mode = 0700, .object = sim.new_object(), .parent = kRootObject, .name = "d"};
    const int made = (co_await sim.perform(mkdir)).error;
    CHECK(made == 0);
    for (const ObjectId place : {mkdir.object, kRootObject, mkdir.object}) {
      look.parent = place;
      CHECK(error_of(look) == (place == kRootObject ? 0 : ENOENT));
    }
    look.parent = kRootObject;
    const Outcome* seen = sim.perform_by_name(look);
    CHECK((seen && seen->error == 0 && S_ISREG(seen->attr.mode) && (seen->attr.valid & kAttrSize) && seen->attr.size == 0));
    CHECK(error_of(remove) == 0);
    CHECK(error_of(remove) == ENOENT);
    CHECK(error_of(look) == ENOENT);
    CHECK(error_of(make) == 0);
    for (const char* name : {"", ".", "..", "a/b", "../f"}) {
      remove.name = look.name = name;
      CHECK(error_of(remove) == -1);
      CHECK(error_of(look) == -1);
    }
    make.name = "other";
    make.open_flags = O_CREAT | O_WRONLY;  // an existing file may be a pipe
    CHECK(error_of(make) == -1);
    make.open_flags |= O_EXCL | O_DIRECT;
    CHECK(error_of(make) == -1);
    make.open_flags &= ~O_DIRECT;
    make.mode = 04755;
    CHECK(error_of(make) == -1);
    make.mode = 0666;
    make.object = sim.new_object();
    CHECK(error_of(make) == -1);
    co_return;
  };
  const mode_t umask_before = umask(022);  // a file has the mode of its request all the same
  runner.run(parts(part(plays)), {});
  umask(umask_before);
  struct stat st;
  CHECK((stat((directory + "/f").c_str(), &st) == 0 && (st.st_mode & 07777) == 0666));
  CHECK(stat((directory + "/other").c_str(), &st) != 0);

  bool expected = false;
  auto looks = [&](SimContext& sim) -> SimTask {
    sim.takes_own_times();
    CHECK((sim.perform_by_name({.kind = OpKind::lookup, .parent = kRootObject, .name = "f"}) != nullptr) == expected);
    co_return;
  };
  runner.run(parts(part(looks), part([](SimContext&) -> SimTask { co_return; })), {});
  runner.run(parts(part(looks)), {.duration = 1000 * kMs});
  Recording recording(directory + "/recording.zst");
  recording.start({.clock_unit = 1}, {});
  runner.run(parts(part(looks)), {.record = &recording});
  recording.finish(true, "");
  auto looks_at = [&](const std::string& options, bool privileged, bool impersonate) {
    const auto other =
        open_target("file:" + directory + options, {.clock = &clock, .privileged = privileged, .impersonate = impersonate});
    ThreadRunner other_runner(clock);
    other_runner.add(*other, 1);
    other_runner.run(parts(part(looks)), {});
  };
  if (geteuid() == 0) {
    looks_at("", true, false);
    looks_at("", false, true);
  }
  looks_at("?direct=1", false, false);
  expected = true;
  looks_at("", false, false);

  Barrier barrier(2);
  std::atomic<int> stop{0};
  auto looks_and_waits = [&](SimContext& sim) -> SimTask {
    sim.takes_own_times();
    const Op look{.kind = OpKind::lookup, .parent = kRootObject, .name = "f"};
    co_await sim.perform(look, 0);
    CHECK(sim.perform_by_name(look) != nullptr);
    stop = 2;
    co_await sim.arrive(barrier);  // no other stream arrives
  };
  const RunnerResult measured = runner.run(parts(part(looks_and_waits)), {.stop = &stop});
  CHECK(measured.stopped);
  CHECK(measured.abandoned <= 1);      // it may leave the barrier before it is given up
  CHECK(measured.unfinished.empty());  // the counted request before has ended
  std::filesystem::remove_all(directory);
}

TEST_CASE("A thread that takes times of its own has no clock read for its operations", "[threads]") {
  struct CountingClock final : Clock {
    const std::thread::id owner = std::this_thread::get_id();
    MonotonicClock real;
    unsigned reads = 0;
    int64_t now() override {
      if (std::this_thread::get_id() == owner) ++reads;  // the thread that supervises the run reads the clock, too
      return real.now();
    }
  } clock;
  const auto target = open_target("file:" + std::filesystem::temp_directory_path().string(), {.clock = &clock});
  ThreadRunner runner(clock);
  runner.add(*target, 1);
  runner.run(parts(part([&clock](SimContext& sim) -> SimTask {
               sim.takes_own_times();
               const unsigned before = clock.reads;
               for (int i = 0; i < 1000; ++i) co_await sim.perform({.kind = OpKind::null});
               CHECK(clock.reads - before < 200);  // the worker looks at its threads from time to time
             })),
             {});
}

TEST_CASE("Many threads on real workers pass barriers, use the pool, move between targets and are counted", "[threads]") {
  MonotonicClock clock;
  auto target = open_target("null:", {.clock = &clock});
  ThreadRunner runner(clock);
  runner.add(*target, 2);
  runner.add(*target, 2);
  constexpr unsigned kThreads = 100, kRounds = 50;
  Barrier barrier(kThreads);
  std::atomic<unsigned> jobs{0}, meetings{0};
  std::vector<SimThreadSpec> all;
  for (unsigned i = 0; i < kThreads; ++i)
    all.push_back(part(
        [&](SimContext& sim) -> SimTask {
          for (unsigned round = 0; round < kRounds; ++round) {
            for (int n = 0; n < 20; ++n) co_await sim.perform(read_of(1), 0);
            if (co_await sim.arrive(barrier)) ++meetings;
            co_await sim.move_to(round % 2);
            if (round % 10 == 0) co_await sim.blocking([&] { ++jobs; });
          }
        },
        i % 2, i));
  uint64_t told = 0;
  RunnerResult measured =
      runner.run(all, {.interval = 5 * kMs, .on_interval = [&](const Interval& i) { told += i.counts[0].count; }});
  CHECK(measured.counts[0].count == kThreads * kRounds * 20);
  CHECK(told == measured.counts[0].count);
  CHECK(jobs == kThreads * kRounds / 10);
  CHECK(meetings == kThreads * kRounds);
}

TEST_CASE("A single thread closes its files, and signals are as before the run", "[threads]") {
  MonotonicClock clock;
  int early[2], late[2];  // pipes made before the runner, and before the run
  REQUIRE(pipe2(early, O_CLOEXEC) == 0);
  auto target = open_target("memory:", {.clock = &clock});
  ThreadRunner runner(clock);
  runner.add(*target, 1);
  REQUIRE(pipe2(late, O_CLOEXEC) == 0);
  int ended = 0;
  auto close_them = [&](SimContext& sim) -> SimTask {
    co_await sim.until(sim.started() + 50 * kMs);
    for (const int* pipe : {early, late}) {
      close(pipe[1]);
      pollfd end = {pipe[0], POLLIN, 0};
      ended += poll(&end, 1, 2000) == 1 && (end.revents & POLLHUP);
    }
  };
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  CHECK(runner.run(parts(part(close_them)), {}).abandoned == 0);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  CHECK(ended == 2);
  for (int number : {SIGINT, SIGTERM, SIGSEGV, SIGUSR1}) CHECK(sigismember(&before, number) == sigismember(&after, number));
  close(early[0]);
  close(late[0]);
}

// A target one of whose operations, on thread 1, blocks its worker until it is let go.
struct Blocking final : Target {
  std::atomic<bool> in_call{false}, let_go{false};
  bool waited_in_vain = false;
  std::string name() const override { return "blocking:"; }
  Fidelity fidelity(const Op&) const override { return Fidelity::exact; }
  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<BlockingCalls>(*this); }

 private:
  struct BlockingCalls final : TargetSession {
    Blocking& target;
    explicit BlockingCalls(Blocking& t) : target(t) {}
    Submit submit(TargetRequest& r) override {
      if (r.op->thread == 1 && !target.in_call.exchange(true)) {
        for (int ms = 0; ms < 5000 && !target.let_go; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        target.waited_in_vain = !target.let_go;
      }
      return Submit::completed;
    }
    void poll(int64_t, int, Completion&) override {}
  };
};

TEST_CASE("Intervals do not wait for a worker that is in a call", "[threads]") {
  MonotonicClock clock;
  Blocking target;
  ThreadRunner runner(clock);
  runner.add(target, 2);
  uint64_t told = 0;
  unsigned without = 0;  // intervals during the call
  auto tell = [&](const Interval& i) {
    told += i.counts[0].count;
    if (target.in_call && !target.let_go && ++without == 3) target.let_go = true;
  };
  const RunnerResult measured = runner.run(parts(part([](SimContext& s) { return closed_loop(s, 0, 1, 10); }),
                                                 part([](SimContext& s) { return closed_loop(s, 0, 2, 10); }, 0, 1)),
                                           {.interval = 10 * kMs, .on_interval = tell});
  CHECK_FALSE(target.waited_in_vain);
  CHECK(told == 20);
  CHECK(measured.counts[0].count == 20);
}

TEST_CASE("A run that is stopped issues no more operations while a worker is in a call", "[threads]") {
  MonotonicClock clock;
  Blocking target;
  ThreadRunner runner(clock);
  runner.add(target, 2);
  std::atomic<int> asked{0};
  auto other = [&](SimContext& sim) -> SimTask {
    while (!sim.ended()) {
      co_await sim.perform(read_of(2), 0);
      if (target.in_call) asked = 1;
    }
    target.let_go = true;
  };
  const RunnerResult measured = runner.run(parts(part([](SimContext& s) { return closed_loop(s, 0, 1, 0); }), part(other, 0, 1)),
                                           {.interval = 10 * kMs, .on_interval = [](const Interval&) {}, .stop = &asked});
  CHECK(measured.stopped);
  CHECK_FALSE(target.waited_in_vain);
}

TEST_CASE("A run on an unresponsive target ends soon after its time; a run on a slow target completes") {
  for (const bool silent : {true, false}) {
    Slow slow;
    slow.target.latency = [&](const Op& op) {
      return op.thread == 2 && silent && slow.clock.now() > 500 * kMs ? -1 : 9'000 * kMs;
    };
    RunnerResult measured = slow.runner.run(parts(part([](SimContext& s) { return closed_loop(s, 0, 1, 0); }),
                                                  part([](SimContext& s) { return closed_loop(s, 1, 2, 0); })),
                                            {.duration = 10'000 * kMs});
    CHECK(measured.abandoned == (silent ? 1 : 0));
    CHECK(measured.ended - measured.started <= 29'000 * kMs);
    CHECK(measured.ended - measured.started >= 18'000 * kMs);
  }
}

TEST_CASE("A run that is stopped ends, and a second stop does not wait", "[threads]") {
  MonotonicClock clock;
  auto target = open_target("null:", {.clock = &clock});
  ThreadRunner runner(clock);
  runner.add(*target, 2);
  for (int stop : {1, 2}) {
    std::atomic<int> asked{0};
    bool stubborn = stop == 2;
    auto body = [&, stubborn](SimContext& sim) -> SimTask {
      while (stubborn || !sim.ended()) {
        co_await sim.perform(read_of(1), 0);
        asked = stop;
      }
    };
    RunnerResult measured = runner.run(parts(part(body), part(body, 0, 1)), {.stop = &asked});
    CHECK(measured.stopped);
    CHECK(measured.abandoned == (stubborn ? 2 : 0));
  }
}

}  // namespace fsr::thread_runner_test
