// SPDX-License-Identifier: Apache-2.0
// The order in which records of the kernel's hooks are written.
#include "witness/start_order.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "catch.hpp"

namespace fsr::start_order_test {

using namespace fsr::shim;

namespace {

struct Item {
  int64_t start;
  uint64_t number;
  bool operator<(const Item& other) const { return start != other.start ? start > other.start : number > other.number; }
};

}  // namespace

TEST_CASE("items come out in the order of starts, and of equal starts in the order of arrival") {
  std::mt19937 random(1);
  StartOrder<Item> order;
  std::vector<Item> wanted, got;
  for (uint64_t i = 0; i < 5000; ++i) {
    // Mostly in order; one in eight is late, some by much.
    const int64_t late = random() % 8 ? 0 : int64_t(random() % (random() % 2 ? 10 : 1000));
    const Item item{int64_t(i / 3) - late, i};
    wanted.push_back(item);
    order.push(item);
  }
  std::sort(wanted.begin(), wanted.end(), [](const Item& a, const Item& b) { return b < a; });
  while (!order.empty()) {
    got.push_back(order.first());
    order.pop();
  }
  REQUIRE(got.size() == wanted.size());
  CHECK(std::equal(got.begin(), got.end(), wanted.begin(), [](const Item& a, const Item& b) { return a.number == b.number; }));
}

TEST_CASE("items keep their order while many more come and go than wait at a time, and more and more wait") {
  StartOrder<Item> order;
  uint64_t came = 0, left = 0;
  bool in_order = true;
  for (const size_t waiting : {700, 1000, 1500, 5000, 10}) {
    for (unsigned i = 0; i < 4000; ++i) {
      for (order.push({int64_t(came), came}), ++came; order.size() > waiting; order.pop())
        in_order &= order.first().number == left++;
    }
  }
  for (; !order.empty(); order.pop()) in_order &= order.first().number == left++;
  CHECK(in_order);
  CHECK(left == came);
}

TEST_CASE("items that come while others are taken keep the order of what is left") {
  StartOrder<Item> order;
  order.push({10, 0});
  order.push({20, 1});
  order.push({15, 2});
  CHECK(order.first().number == 0);
  order.pop();
  order.push({12, 3});
  order.push({20, 4});
  std::vector<uint64_t> got;
  for (; !order.empty(); order.pop()) got.push_back(order.first().number);
  CHECK(got == std::vector<uint64_t>{3, 2, 1, 4});
}

}  // namespace fsr::start_order_test
