// SPDX-License-Identifier: Apache-2.0
#include "targets/id_map.hpp"

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>

#include "catch.hpp"

namespace fsr::id_map_test {

TEST_CASE("an id map behaves as an ordinary map when it grows and shrinks") {
  IdMap<std::string> map;
  std::unordered_map<uint64_t, std::string> model;
  std::mt19937_64 random(7);
  for (int step = 0; step < 200'000; ++step) {
    // Few distinct ids of one shard give long probe sequences, with many removals in their middle.
    uint64_t id = (random() % 300 + 1) * 64;
    if (random() % 3 == 0) {
      std::string removed;
      bool there = model.count(id);
      REQUIRE(map.erase(id, &removed) == there);
      if (there) REQUIRE(removed == model[id]);
      model.erase(id);
    } else {
      model[id] = std::to_string(step);
      map.set(id, std::to_string(step));
    }
    uint64_t probe = (random() % 300 + 1) * 64;
    std::string value;
    REQUIRE(map.get(probe, &value) == (model.count(probe) == 1));
    if (model.count(probe)) REQUIRE(value == model[probe]);
  }
  REQUIRE(map.size() == model.size());
  size_t seen = 0;
  map.for_each([&](uint64_t id, std::string& value) {
    CHECK(model.at(id) == value);
    ++seen;
  });
  CHECK(seen == model.size());
}

TEST_CASE("an id map never contains id 0") {
  IdMap<int> map;
  int value = 0;
  CHECK_FALSE(map.get(0, &value));
  CHECK_FALSE(map.visit(0, [](int&) {}));
  CHECK_FALSE(map.erase(0));
  map.set(64, 5);
  CHECK_FALSE(map.contains(0));
}

TEST_CASE("several threads may use one id map") {
  IdMap<uint64_t> map;
  auto work = [&] {
    for (uint64_t id = 1; id <= 20'000; ++id) map.update(id, [](uint64_t& n) { ++n; });
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
  bool all_two = true;
  map.for_each([&](uint64_t, uint64_t& n) { all_two &= n == 2; });
  CHECK(all_two);
  CHECK(map.size() == 20'000);
}

}  // namespace fsr::id_map_test
