// SPDX-License-Identifier: Apache-2.0
#include "workloads/lantest/afp_run.hpp"

#include <fmt/format.h>
#include <time.h>

#include <cstring>

namespace fsr::lantest {

AfpRun::AfpRun(afp::Commands& commands, const Settings& settings, unsigned session, const std::atomic<int>& stop,
               const ServerCalls* calls, CommonStart* common, ReportTest report, AfpTests::Trace trace)
    : commands_(commands),
      settings_(settings),
      common_(common),
      report_(std::move(report)),
      watch_(*commands.settings().clock, CLOCK_THREAD_CPUTIME_ID, calls, common),
      tests_(commands, settings, session, watch_, stop, std::move(trace)) {
  results_.counts_calls = calls != nullptr;
}

bool AfpRun::run() { return commands_.run(run_all()) == 0; }

Task AfpRun::iterate(unsigned iteration) {
  for (unsigned test = 0; test < kTests; ++test) {
    int error = 0;
    if (settings_.tests[test]) {
      error = co_await tests_.perform(Test(test));
      if (!error) {
        results_.runs[test].push_back(watch_.measured());
        for (const auto& [command, times] : tests_.take_times()) results_.commands[test][afp::command_name(command)].merge(times);
        report_(iteration, test, results_.runs[test].back().measures);
      }
    }
    if (!error) error = co_await tests_.clean_behind(Test(test));
    if (!error) continue;
    failure_ = fmt::format("iteration {}, test {}: {}", iteration, test + 1,
                           tests_.failure().text.empty() ? strerror(error) : tests_.failure().text);
    co_return error;
  }
  co_return 0;
}

int AfpRun::original_status() const {
  enum { kFile = 3, kFork = 4, kNetwork = 5 };
  if (tests_.failure().connection) return kNetwork;
  switch (tests_.failure().command) {
    case afp::Command::close_fork:
    case afp::Command::get_fork_parms:
    case afp::Command::old_lock:
    case afp::Command::old_read:
    case afp::Command::old_write:
    case afp::Command::open_fork:
    case afp::Command::read:
    case afp::Command::write:
      return kFork;
    default:
      return kFile;
  }
}

Task AfpRun::run_all() {
  int error = co_await tests_.enter();
  made_ = error == 0;
  if (error) failure_ = fmt::format("the test directory '{}': {}", directory(), tests_.failure().text);
  for (unsigned iteration = 1; iteration <= settings_.iterations && !error; ++iteration) error = co_await iterate(iteration);
  if (common_) common_->leave();
  const int left = co_await tests_.leave();
  removed_ = left == 0;
  co_return error ? error : left;
}

}  // namespace fsr::lantest
