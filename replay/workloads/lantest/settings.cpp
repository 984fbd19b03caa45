// SPDX-License-Identifier: Apache-2.0
#include "workloads/lantest/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "util/units.hpp"

namespace fsr::lantest {

namespace {

struct Label {
  const char* what;
  unsigned operations;
  bool about = false;
};
// The numbers are those of the original's labels. Some differ from the requests on the wire.
constexpr Label kLabels[kTests] = {{"Open, stat and read 512 bytes from 1000 files", 8'000},
                                   {"Writing one large file", 103},
                                   {"Reading one large file", 102},
                                   {"Locking/Unlocking 10000 times each", 20'000},
                                   {"Creating dir with 2000 files", 4'000},
                                   {"Enumerate dir with 2000 files", 51, true},
                                   {"Deleting dir with 2000 files", 2'000},
                                   {"Create directory tree with 1000 dirs", 1'110},
                                   {"Directory cache hits (100 dirs + 1000 files)", 11'000},
                                   {"Mixed cache operations (create/stat/enum/delete)", 820},
                                   {"Deep path traversal (nested directory navigation)", 3'500},
                                   {"Cache validation efficiency (metadata changes)", 30'000}};

}  // namespace

void Settings::choose(const std::string& letters) {
  tests.reset();
  for (const char letter : letters) {
    if (letter < '1' || letter >= char('1' + kTests))
      throw std::invalid_argument(fmt::format("'{}': expected digits of tests from 1 to 9, and : ; < for 10 to 12", letters));
    tests.set(unsigned(letter - '1'));
  }
  if (tests.none()) throw std::invalid_argument("expected at least one test");
}

void Settings::complete() {
  if (tests[kEnumerate] || tests[kDelete]) tests.set(kCreate);
  if (tests[kReadBig] && big_file.empty()) tests.set(kWriteBig);
}

unsigned Settings::share(unsigned count) const { return std::max(count * percent / 100, 1u); }

std::string test_directory(unsigned session) {
  return fmt::format("LanTest-{}{}", getpid(), session ? fmt::format("-{}", session) : "");
}

const char* title(unsigned test) { return kLabels[test].what; }

std::string label(const Settings& settings, unsigned test) {
  const Label& l = kLabels[test];
  if (settings.as_operations) return fmt::format("{} [as operations]", l.what);
  const std::string share = settings.percent == 100 ? "" : fmt::format("{} % of ", settings.percent);
  return fmt::format("{} [{}{}{} AFP ops]", l.what, share, l.about ? "~" : "", format_count(l.operations));
}

unsigned chosen_operations(const Settings& settings) {
  unsigned sum = 0;
  for (unsigned test = 0; test < kTests; ++test)
    if (settings.tests[test]) sum += kLabels[test].operations;
  return settings.share(sum);
}

}  // namespace fsr::lantest
