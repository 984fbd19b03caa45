// SPDX-License-Identifier: Apache-2.0
// Tests the names that objects had at earlier operations, beside those that Paths has at that moment.
#include "trace/name_history.hpp"

#include <algorithm>
#include <random>

#include "catch.hpp"
#include "trace/paths.hpp"

namespace fsr::name_history_test {

namespace {

// Returns operations on a few objects, whose names and places change all the time.
std::vector<Op> changing_names(unsigned seed, uint64_t count) {
  static constexpr OpKind kKinds[] = {OpKind::lookup, OpKind::create, OpKind::rename, OpKind::link,  OpKind::unlink,
                                      OpKind::mkdir,  OpKind::read,   OpKind::rename, OpKind::statfs};
  static constexpr std::string_view kNames[] = {"a", "b", "long name of a file", ""};
  std::mt19937_64 random(seed);
  auto any = [&](uint64_t most) { return random() % most; };
  std::vector<Op> ops;
  for (uint64_t seq = 0; seq < count; ++seq)
    ops.push_back({.seq = seq,
                   .kind = kKinds[any(std::size(kKinds))],
                   .op_flags = uint16_t(any(20) == 0 ? kOpUnfinished : 0),
                   .error = any(10) == 0 ? ENOENT : 0,
                   .flags = uint32_t(any(3) == 0 ? RENAME_EXCHANGE : 0),
                   .object = any(12),
                   .parent = any(6),
                   .parent2 = any(6),
                   .object2 = any(12),
                   .name = kNames[any(std::size(kNames))],
                   .name2 = kNames[any(std::size(kNames))]});
  return ops;
}

}  // namespace

TEST_CASE("names of the past are those that the operations met") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<Op> ops = changing_names(seed, 300);
    Paths paths;
    NameHistory history;
    for (ObjectId object = 2; object < 7; ++object) paths.learn(kRootObject, "before", object);
    std::vector<std::string> then;
    for (const Op& op : ops) {
      if (op.kind != OpKind::rename) paths.apply(op);
      then.push_back(paths.of(op));
      if (op.kind == OpKind::rename) paths.apply(op);
      history.apply(op);
    }
    CHECK(history.operations() == ops.size());
    for (ObjectId object = 2; object < 7; ++object) history.begin_with(kRootObject, "before", object);
    for (const Op& op : ops) {
      INFO("seed " << seed << ", operation " << op.seq << ", " << op_name(op.kind));
      CHECK(history.of(op) == then[op.seq]);
    }
  }
}

TEST_CASE("a history of too many names forgets them") {
  NameHistory history(250);  // bytes, of two names
  for (uint64_t seq = 0; seq < 4; ++seq) {
    const Op create{.seq = seq, .kind = OpKind::create, .object = 2 + seq, .parent = kRootObject, .name = "a"};
    Op exchange = create;
    exchange.kind = OpKind::rename;
    exchange.flags = RENAME_EXCHANGE;
    exchange.parent2 = kRootObject;
    exchange.object2 = 9;
    exchange.name2 = "b";
    history.apply(seq == 2 ? exchange : create);
    CHECK(history.operations() == (seq < 2 ? seq + 1 : 0));
  }
}

}  // namespace fsr::name_history_test
