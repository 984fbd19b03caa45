// SPDX-License-Identifier: Apache-2.0
#include "trace/slab.hpp"

#include <malloc.h>

#include <map>
#include <random>
#include <string>

#include "catch.hpp"

namespace fsr::slab_test {

namespace {

struct Entry {
  uint64_t key = 0;
  std::string text;
  int extra = 7;
};

Entry* find(Slab<Entry>& slab, uint64_t key) {
  return slab.find(key, [&](const Entry& e) { return e.key == key; });
}

}  // namespace

TEST_CASE("a slab has what a map has, and gives erased entries anew") {
  Slab<Entry> slab;
  std::map<uint64_t, std::string> map;
  std::mt19937 random(1);
  for (int i = 0; i < 50'000; ++i) {
    const uint64_t key = random() % 2000;
    Entry* const found = find(slab, key);
    REQUIRE((found != nullptr) == map.contains(key));
    if (found) {
      REQUIRE(found->text == map[key]);
      slab.erase(key, *found);
      map.erase(key);
    } else {
      Entry& added = slab.add(key);
      REQUIRE((added.key == 0 && added.text.empty() && added.extra == 7));
      added.key = key;
      added.text = map[key] = std::string(key % 50, 'x');
      added.extra = 8;
    }
  }
  CHECK(slab.size() == map.size());
}

TEST_CASE("an erased entry keeps no memory") {
  Slab<Entry> slab;
  const size_t before = mallinfo2().uordblks;
  for (uint64_t key = 1; key <= 1000; ++key) {
    Entry& added = slab.add(key);
    added.key = key;
    added.text = std::string(4000, 'x');
  }
  for (uint64_t key = 1; key <= 1000; ++key) slab.erase(key, *find(slab, key));
  CHECK(mallinfo2().uordblks < before + 500'000);
}

}  // namespace fsr::slab_test
