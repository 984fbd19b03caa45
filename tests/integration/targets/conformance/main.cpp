// SPDX-License-Identifier: Apache-2.0
// What every target must do alike: target_conformance URL [--privileged] [--without CASE]... Prints "ok - case" or "not ok -
// case: why", then the operations that the target says it cannot express. Works in a directory of its own below the root and
// leaves it there.
#include <algorithm>
#include <cstdio>
#include <thread>

#include "case.hpp"

using namespace fsr;

static void sessions(Target& target, Case& c) {
  constexpr int kThreads = 4, kRounds = 100;
  std::atomic<int> winners = 0;
  std::vector<std::string> failures(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      try {
        Driver driver(target);
        Case own{driver, c.top};
        ObjectId dir = own.mkdir(c.top, fmt::format("thread{}", t));
        for (int i = 0; i < kRounds; ++i) {
          std::string name = fmt::format("file{}", i), bytes = pattern(1000 + size_t(i), unsigned(t));
          auto f = own.create(dir, name);
          own.write(f, 0, bytes);
          require(own.read(f, 0, 5000) == bytes, "content of another thread's file");
          own.close(f);
          own.ok(own.rename_op(dir, name, dir, name + ".new", f.object));
          if (i % 3 == 0) own.ok({.kind = OpKind::unlink, .object = f.object, .parent = dir, .name = name + ".new"});
          std::string shared = fmt::format("race{}", i);
          Op race{.kind = OpKind::create,
                  .mode = 0644,
                  .open_flags = O_RDWR | O_CREAT | O_EXCL,
                  .object = Driver::new_object(),
                  .parent = c.top,
                  .handle = Driver::new_handle(),
                  .name = shared};
          Answer a = driver.perform(race);
          require(a.error == 0 || a.error == EEXIST, "an exclusive create gave " + error_text(a.error));
          if (a.error == 0) ++winners, own.close({race.object, race.handle});
        }
      } catch (const std::exception& e) {
        failures[size_t(t)] = e.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) require(failure.empty(), failure);
  require(winners == kRounds, fmt::format("{} exclusive creates of {} names won", winners.load(), kRounds));
}

int main(int argc, char** argv) {
  if (argc < 2) return fprintf(stderr, "target_conformance: expected the URL of a target\n"), 2;
  int failed = 0;
  try {
    TargetOptions options{.clock = &Driver::clock};
    std::vector<std::string_view> without;  // what would take too long there
    for (int i = 2; i < argc; ++i)
      if (std::string_view(argv[i]) == "--privileged")
        options.privileged = true;
      else if (std::string_view(argv[i]) == "--without" && ++i < argc)
        without.push_back(argv[i]);
    std::unique_ptr<Target> target = open_target(argv[1], options);
    Driver driver(*target);
    std::vector<NamedCase> cases = name_cases();
    for (const NamedCase& test : data_cases()) cases.push_back(test);
    int number = 0;
    auto run = [&](const char* name, auto&& test) {
      if (std::find(without.begin(), without.end(), name) != without.end()) return;
      try {
        Case c{driver, kRootObject};
        c.top = c.mkdir(kRootObject, fmt::format("case{}", ++number));
        test(c);
        printf("ok - %s: %s\n", argv[1], name);
      } catch (const Failure& failure) {
        printf("not ok - %s: %s: %s\n", argv[1], name, failure.what());
        ++failed;
      }
      fflush(stdout);
    };
    for (const NamedCase& test : cases) run(test.name, test.run);
    run("operations as stated", [&](Case& c) { statements(*target, c, options.privileged); });
    run("concurrent sessions", [&](Case& c) { sessions(*target, c); });
    for (const std::string& kind : driver.impossible) printf("# %s cannot express: %s\n", argv[1], kind.c_str());
    for (const auto& [name, count] : target->counters())
      printf("# %s: %s %llu\n", argv[1], name.c_str(), static_cast<unsigned long long>(count));
  } catch (const std::exception& e) {
    return fprintf(stderr, "target_conformance: %s\n", e.what()), 2;
  }
  return failed ? 1 : 0;
}
