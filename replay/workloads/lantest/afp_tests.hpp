// SPDX-License-Identifier: Apache-2.0
// Sends afp_lantest 4.5.1's twelve tests: the same commands in the same order with the same fields.
//
// All files are in a test directory, test_directory(). Tasks return an errno; failure() describes the error.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "targets/afp/commands.hpp"
#include "util/histogram.hpp"
#include "workloads/lantest/settings.hpp"
#include "workloads/lantest/stopwatch.hpp"
#include "workloads/lantest/zeros.hpp"

namespace fsr::lantest {

class AfpTests {
 public:
  // A command that failed, or succeeded although it should have failed.
  struct Failure {
    afp::Command command = afp::Command::none;
    bool connection = false;  // true: no reply came
    std::string text;         // "FPOpenFork of 'File.big': kFPObjectNotFound (-5018)"; empty: no failure
  };
  using Times = std::map<afp::Command, Histogram>;
  using Trace = std::function<void(const std::string& line)>;

  // `stop`: if above 0, tests end with ECANCELED after the command in flight. `trace`: called for each command; may be empty.
  AfpTests(afp::Commands& commands, const Settings& settings, unsigned session, Stopwatch& watch, const std::atomic<int>& stop,
           Trace trace);

  Task enter();  // makes the test directory
  // Removes the test directory with everything in it. Can be called after an error.
  Task leave();
  // Runs a test. The stopwatch does not measure its preparation and end. If a test needs another one, run the other one first.
  Task perform(Test test);
  // Removes files that `test` or tests before it have left.
  Task clean_behind(Test test);

  const std::string& directory() const { return name_; }
  const Failure& failure() const { return failure_; }       // the first failure
  Times take_times() { return std::exchange(times_, {}); }  // times of the measured commands since the last call, ns

 private:
  // A command of a test. co_await returns 0 or the errno of its failure.
  class Step {
   public:
    Step(AfpTests& tests, afp::Commands::ReplyAwaiter answer, std::string name, int32_t expected)
        : tests_(tests), answer_(answer), command_(answer.rpc.command), name_(std::move(name)), expected_(expected) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) {
      begun_ = tests_.watch_.now();
      answer_.await_suspend(h);
    }
    int await_resume() { return tests_.judge(*this, answer_.await_resume()); }

   private:
    friend class AfpTests;
    AfpTests& tests_;
    afp::Commands::ReplyAwaiter answer_;
    const afp::Command command_;
    const std::string name_;
    const int32_t expected_;
    int64_t begun_ = 0;
  };
  struct Flight;

  int judge(const Step& step, const afp::Reply& reply);

  Step parms(uint32_t did, std::string name, uint16_t file_bitmap, uint16_t dir_bitmap, int32_t expected = afp::kOk);
  // Checks whether a name exists.
  Step probe(uint32_t did, std::string name, int32_t expected = afp::kOk);
  Step create(uint32_t did, std::string name);
  Step make_dir(uint32_t did, std::string name);  // sets made_
  Step remove(uint32_t did, std::string name);
  Step open(uint32_t did, std::string name, uint16_t bitmap, uint16_t access);  // sets fork_
  Step fork_parms(uint16_t bitmap);
  Step close();
  Step read(uint32_t bytes);   // from offset 0
  Step write(uint32_t bytes);  // writes zeros
  Step lock(uint8_t flags, uint32_t offset);
  Step list(uint16_t file_bitmap, uint16_t dir_bitmap, uint16_t count, uint16_t start);
  static Detached fly(Step step, Flight& flight);

  // The tests, which are in other files, and helpers of several tests.
  Task read_small();
  Task make_small(std::string name);
  Task write_big();
  Task read_big();
  Task lock_and_unlock();
  Task prepare_lock();
  Task create_files();
  Task list_files();
  Task remove_files();
  Task make_tree();
  Task make_dirs(uint32_t did, unsigned count, unsigned depth);
  Task hit_cache();
  Task mix();
  Task walk_deep();
  Task validate();

  Task clear(uint32_t did);
  static constexpr const char* kBigFile = "File.big";
  static std::string empty_file(unsigned i);
  unsigned empty_files() const { return settings_.share(2000); }

  afp::Commands& commands_;
  const Settings& settings_;
  Stopwatch& watch_;
  const std::atomic<int>& stop_;
  const std::string name_;
  uint32_t dir_ = 0;
  uint32_t made_ = 0;  // the last directory made
  uint16_t fork_ = 0;  // the open fork
  bool fork_open_ = false, leaving_ = false;
  const Zeros zeros_;
  Failure failure_;
  Times times_;
  const Trace trace_;

  struct MadeDir {
    uint32_t parent;
    std::string name;
  };
  std::vector<MadeDir> tree_;  // directories of test 8, in the order of removal
};

}  // namespace fsr::lantest
