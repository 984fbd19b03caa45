// SPDX-License-Identifier: Apache-2.0
// Tests random races on a model of one directory. Every operation takes effect at some instant between its start and its end, and
// has the outcome of the model at that instant. The order that the linearizer finds must give every operation the same outcome.
#include <fcntl.h>
#include <linux/fs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <random>

#include "catch.hpp"
#include "op_list.hpp"
#include "plan/linearizer.hpp"

namespace fsr::linearizer_race_test {

namespace {

constexpr std::array<std::string_view, 3> kNames = {"a", "b", "c"};

// Model of the directory. perform() executes an operation: it fills in the outcome or, with `expected`, compares it.
class Model {
 public:
  void perform(Op& op) {
    ObjectId& at = names_[std::string(op.name)];
    op.error = 0;
    op.op_flags = 0;
    op.object = at;
    switch (op.kind) {
      case OpKind::lookup:
        if (!at) op.error = ENOENT;
        break;
      case OpKind::create:
        if (at && (op.open_flags & O_EXCL)) op.error = EEXIST;
        if (!at) {
          op.op_flags = kOpCreated;
          at = op.object = fresh(op);
        }
        break;
      case OpKind::unlink:
        if (!at) op.error = ENOENT;
        at = kNoObject;
        break;
      default: {  // rename
        ObjectId& to = names_[std::string(op.name2)];
        op.object2 = to;
        if (!at) op.error = ENOENT;
        if (at && to && op.flags) op.error = EEXIST;
        if (op.error) break;
        to = at;
        at = kNoObject;
      }
    }
    if (op.error) op.object = op.object2 = kNoObject;
  }

 private:
  // Returns the same id whenever the operation makes its file, so that two runs can be compared.
  static ObjectId fresh(const Op& op) { return 100 + op.offset; }
  std::map<std::string, ObjectId> names_;
};

struct Race {
  std::mt19937 random;
  explicit Race(unsigned seed) : random(seed) {}
  int64_t below(int64_t n) { return int64_t(random() % uint64_t(n)); }

  Op make(ThreadId thread, int64_t start, uint64_t number) {
    static constexpr OpKind kKinds[] = {OpKind::lookup, OpKind::lookup, OpKind::create, OpKind::unlink, OpKind::rename};
    const int64_t end = start + 1 + below(below(4) ? 12 : 60);
    Op op = name_op({start, end, thread}, kKinds[below(5)], kRootObject, kNames[size_t(below(3))], 0);
    op.offset = number;
    if (op.kind == OpKind::create) op.open_flags = O_RDWR | O_CREAT | (below(4) ? O_EXCL : 0);
    if (op.kind == OpKind::rename) {
      op.parent2 = kRootObject;
      do op.name2 = kNames[size_t(below(3))];
      while (op.name2 == op.name);
      op.flags = below(2) ? RENAME_NOREPLACE : 0;
    }
    return op;
  }

  // Returns operations of a few threads in start order, with the outcomes of a true order of effect.
  std::vector<Op> run(unsigned threads, unsigned each) {
    struct Effect {
      int64_t at;
      Op op;
    };
    std::vector<Effect> effects;
    for (ThreadId t = 1; t <= threads; ++t) {
      int64_t now = below(10);
      for (unsigned i = 0; i < each; ++i) {
        Op op = make(t, now, effects.size());
        // Effects must not share an instant, because they would have no order.
        const int64_t at = op.start + below(op.duration);
        effects.push_back({at, op});
        now = op.end() / 1000 + below(6);
      }
    }
    std::sort(effects.begin(), effects.end(), [](const Effect& a, const Effect& b) { return a.at < b.at; });
    Model model;
    std::vector<Op> ops;
    for (Effect& e : effects) {
      model.perform(e.op);
      ops.push_back(e.op);
    }
    std::stable_sort(ops.begin(), ops.end(), [](const Op& a, const Op& b) { return a.start < b.start; });
    return ops;
  }
};

// Returns how many of the operations have another outcome if they are done in the linearizer's order.
unsigned differing(const std::vector<Op>& ops) {
  OpList source(ops);
  Linearizer linearizer(source, 0, INT64_MAX);
  Model model;
  unsigned wrong = 0, seen = 0;
  while (const Op* op = linearizer.next()) {
    Op again = *op;
    model.perform(again);
    wrong += again.error != op->error || again.object != op->object || again.op_flags != op->op_flags;
    ++seen;
  }
  CHECK(seen == ops.size());
  return wrong;
}

}  // namespace

// Several orders may explain the same outcomes, and the linearizer's first choice can turn out wrong later. With so few names and
// no pauses that is rare.
TEST_CASE("random races keep their outcomes") {
  struct Expected {
    unsigned threads, races;  // number of 500 races that may go wrong, at most; compilers shuffle them differently
  };
  for (Expected e : {Expected{2, 5}, {3, 15}, {4, 35}, {8, 90}}) {
    unsigned wrong = 0;
    for (unsigned seed = 0; seed < 500; ++seed) wrong += differing(Race(seed * 10 + e.threads).run(e.threads, 20)) > 0;
    INFO(e.threads << " threads");
    CHECK(wrong <= e.races);
  }
}

}  // namespace fsr::linearizer_race_test
