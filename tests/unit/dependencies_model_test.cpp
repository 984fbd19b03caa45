// SPDX-License-Identifier: Apache-2.0
// Replays random traces of a small file system (model_traces.hpp) in resource order, with each operation delayed at random. No
// outcome may change, neither by the dependencies alone nor by the engine on memory:.
//
// Traces for which the linearizer finds no true order (a few in a thousand: linearizer_race_test.cpp) are left out, because a
// replay one by one differs as well. FSR_MODEL_SEEDS=1000000 tries that many traces instead of a few hundred of each kind.
#include <cstdlib>
#include <queue>
#include <random>

#include "base/clock.hpp"
#include "catch.hpp"
#include "delayed_target.hpp"
#include "engine/run.hpp"
#include "model_traces.hpp"
#include "plan/dependencies.hpp"

namespace fsr::dependencies_model_test {

namespace {

// Replays as the dependencies allow, in a window, with random delays. Returns the number of the first operation that differs. -1:
// none.
int64_t replay(const ModelTrace& trace, bool root, unsigned seed, size_t window) {
  std::mt19937 random(seed);
  struct Slot {
    const Op* op = nullptr;
    unsigned waits = 0;
    bool started = false;
    std::vector<uint32_t> on_start, on_end;
  };
  struct Event {
    int64_t at;
    enum Kind { issue, effect, end } kind;
    uint32_t slot;
    bool operator>(const Event& other) const { return at > other.at; }
  };
  OpList source(trace.ops);
  Linearizer order(source, 0, INT64_MAX);
  ObjectSet known;
  Dependencies dependencies(uint32_t(window), false, known);
  std::vector<Slot> slots(window);
  std::vector<uint32_t> free;
  for (size_t i = window; i-- > 0;) free.push_back(uint32_t(i));
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::deque<Op> copies;
  std::vector<Wait> waits;
  SmallFiles files(root);
  int64_t now = 0;
  auto delay = [&] { return int64_t(random() % (random() % 3 ? 5 : 200)); };
  auto done = [&](std::vector<uint32_t>& of) {
    for (uint32_t s : of)
      if (--slots[s].waits == 0) events.push({now + delay(), Event::issue, s});
    of.clear();
  };
  for (bool more = true;;) {
    while (more && !free.empty()) {
      const Op* op = order.next();
      if (!(more = op != nullptr)) break;
      const uint32_t s = free.back();
      free.pop_back();
      slots[s] = {.op = &copies.emplace_back(trace.ops[op->seq])};
      dependencies.enter(*op, s, order.held_since(), order.holds(op->thread), waits);
      for (const Wait& w : waits) {
        if (!w.for_end && slots[w.slot].started) continue;
        (w.for_end ? slots[w.slot].on_end : slots[w.slot].on_start).push_back(s);
        ++slots[s].waits;
      }
      if (!slots[s].waits) events.push({now + delay(), Event::issue, s});
    }
    if (events.empty()) return free.size() == window ? -1 : INT64_MAX;  // a deadlock
    const Event e = events.top();
    events.pop();
    now = e.at;
    Slot& slot = slots[e.slot];
    if (e.kind == Event::issue) {
      slot.started = true;
      done(slot.on_start);
      events.push({now + delay(), Event::effect, e.slot});
    } else if (e.kind == Event::effect) {
      if (!same_outcome(trace, *slot.op, perform_again(files, *slot.op))) return int64_t(slot.op->seq);
      events.push({now + delay(), Event::end, e.slot});
    } else {
      dependencies.finished(e.slot);
      done(slot.on_end);
      free.push_back(e.slot);
    }
  }
}

// Replays with the engine on memory:. Returns the same as replay().
int64_t replay_in_memory(const ModelTrace& trace, unsigned seed, size_t window) {
  VirtualClock clock;
  const std::unique_ptr<Target> memory = open_target("memory:", {.clock = &clock});
  DelayedTarget target(*memory, clock, seed);
  OpList source(trace.ops);
  RunOptions options;
  options.timing = Timing::asap;
  options.window_ops = window;
  options.inline_workers = true;
  const RunResult result = run(source, target, clock, options);
  if (result.issued() != trace.ops.size() || result.violations != 0) return INT64_MAX;
  return result.matched() == trace.ops.size() ? -1 : int64_t(result.mismatches.empty() ? INT64_MAX : result.mismatches[0].seq);
}

std::string text(const ModelTrace& trace, int64_t until) {
  std::string out;
  for (const Op& op : trace.ops)
    out += std::to_string(op.seq) + (int64_t(op.seq) == until ? " DIFFERS" : "") + ": " + std::to_string(op.start) + "-" +
           std::to_string(op.end()) + " thread " + std::to_string(op.thread) + " " + op_name(op.kind) + " #" +
           std::to_string(op.object) + " " + std::to_string(op.parent) + "/" + std::string(op.name) + " #" +
           std::to_string(op.object2) + " " + std::to_string(op.parent2) + "/" + std::string(op.name2) + " mode " +
           std::to_string(op.set ? op.set->mode : op.mode) + " error " + std::to_string(op.error) + "\n";
  return out;
}

unsigned seeds(unsigned usual) {
  const char* asked = getenv("FSR_MODEL_SEEDS");
  return asked ? unsigned(strtoul(asked, nullptr, 10)) : usual;
}

void check(const ModelShape& shape, unsigned usual = 300) {
  unsigned orderless = 0, wrong = 0;
  const unsigned count = seeds(usual);
  for (unsigned seed = 0; seed < count; ++seed) {
    ModelTraces generator(shape, seed);
    const ModelTrace trace = generator.run(10 + seed % (kMostModelOps - 10));
    if (!orderly(trace, shape.root)) {
      ++orderless;
      continue;
    }
    const size_t window = seed % 3 ? 64 : 8;
    int64_t differing = replay(trace, shape.root, seed, window);
    const bool gone = std::ranges::any_of(trace.results, [](const auto& result) { return result.error == ESTALE; });
    if (differing < 0 && shape.root && !gone) differing = replay_in_memory(trace, seed, window);
    if (differing < 0) continue;
    if (wrong++) continue;
    UNSCOPED_INFO(shape.name << ", seed " << seed << ", the first that differs:\n" << text(trace, differing));
  }
  UNSCOPED_INFO(shape.name << ": " << wrong << " of " << count << " wrong, " << orderless << " without an order");
  CHECK(wrong == 0);
  CHECK(orderless <= (shape.overlap ? count * shape.orderless : 0));
}

// memory: checks no permissions, so the traces are those of root. It keeps the meaning of an id, so traces that use an id after
// its end are left out.
void check_in_memory_too(ModelShape shape, unsigned usual = 300) {
  check(shape, usual);
  shape.root = true;
  check(shape, usual);
}

using K = OpKind;
const std::vector<K> kNameKinds = {K::lookup, K::lookup, K::create, K::create, K::mkdir, K::mkdir,
                                   K::unlink, K::rmdir,  K::rename, K::rename, K::link,  K::opendir};
std::vector<K> with(std::vector<K> kinds, std::initializer_list<K> more) {
  kinds.insert(kinds.end(), more);
  return kinds;
}

}  // namespace

TEST_CASE("a model's traces replay with their outcomes: names") {
  check_in_memory_too({"one call at a time", 3, false, false, kNameKinds});
  check_in_memory_too({"one call at a time, failures without objects", 3, false, true, kNameKinds});
  check_in_memory_too({"two threads", 2, true, false, kNameKinds});
  check_in_memory_too({"three threads, failures without objects", 3, true, true, kNameKinds});
}

TEST_CASE("a model's traces replay with their outcomes: files without a name") {
  const std::vector<K> kinds = {K::tmpfile, K::tmpfile, K::create, K::create, K::lookup, K::open, K::open,
                                K::release, K::release, K::unlink, K::rename, K::link,   K::link, K::access,
                                K::mkdir,   K::statfs,  K::rmdir,  K::flush,  K::setlk};
  check_in_memory_too({"one call at a time", 3, false, false, kinds}, 1000);
  check_in_memory_too({"two threads", 2, true, false, kinds}, 1000);
}

TEST_CASE("a model's traces replay with their outcomes: permissions") {
  const std::vector<K> kinds = with(kNameKinds, {K::setattr, K::setattr, K::setattr, K::access, K::open, K::open});
  check({"one call at a time", 3, false, false, kinds});
  check({"one call at a time, failures without objects", 3, false, true, kinds});
  check({"two threads", 2, true, false, kinds});
}

TEST_CASE("a model's traces replay with their outcomes: extended attributes") {
  const std::vector<K> kinds = {K::create,   K::lookup,   K::unlink,      K::setxattr,
                                K::setxattr, K::getxattr, K::removexattr, K::getattr};
  check_in_memory_too({"one call at a time", 3, false, false, kinds});
  check_in_memory_too({"two threads", 2, true, false, kinds});
}

TEST_CASE("a model's traces replay with their outcomes: access lists") {
  const std::vector<K> kinds = with(kNameKinds, {K::setattr, K::setxattr, K::setxattr, K::setxattr, K::getxattr, K::removexattr,
                                                 K::access, K::access, K::open, K::open});
  const std::vector<std::string_view> lists = {SmallFiles::kAccessList, SmallFiles::kAccessList, SmallFiles::kDefaultList};
  check({"one call at a time", 3, false, false, kinds, lists});
  check({"one call at a time, failures without objects", 3, false, true, kinds, lists});
  check({"two threads", 2, true, false, kinds, lists});
}

TEST_CASE("a model's traces replay with their outcomes: locks") {
  const std::vector<K> kinds = {K::create, K::lookup, K::open,  K::setlk, K::setlk, K::setlk, K::setlk,
                                K::setlk,  K::setlk,  K::flock, K::flock, K::flock, K::flush};
  check_in_memory_too({"one call at a time", 3, false, false, kinds});
  check_in_memory_too({"two threads", 2, true, false, kinds, {}, 0.02});
  check_in_memory_too({"four threads", 4, true, false, kinds, {}, 0.05});
  check_in_memory_too({"locks of open file descriptions", 3, false, false, with(kinds, {K::release, K::release})});
}

}  // namespace fsr::dependencies_model_test
