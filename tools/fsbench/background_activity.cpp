// SPDX-License-Identifier: Apache-2.0
#include "background_activity.hpp"

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/clock.hpp"

namespace fsr::fsbench {

namespace {

uint64_t requests_now() {
  std::ifstream file("/proc/net/rpc/nfs");
  return requests_in({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
}

}  // namespace

uint64_t requests_in(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t calls = 0;
    if (words >> name >> calls && name == "rpc") return calls;
  }
  return 0;
}

double background_rate(const std::atomic<int>& stop) {
  constexpr int64_t kWatched = 2'000'000'000;  // ns; as the original
  MonotonicClock clock;
  const uint64_t before = requests_now();
  const int64_t begin = clock.now();
  while (clock.now() < begin + kWatched && !stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return double(requests_now() - before) * 1e9 / double(clock.now() - begin);
}

}  // namespace fsr::fsbench
