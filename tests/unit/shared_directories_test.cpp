// SPDX-License-Identifier: Apache-2.0
// Tests streams of a mix that share directories: no outcome depends on a neighbour, and a stream takes little memory.
#include <malloc.h>

#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "catch.hpp"
#include "engine/prepare.hpp"
#include "engine/verify.hpp"
#include "inputs/mix/mix_input.hpp"
#include "inputs/mix/mix_run.hpp"
#include "mix/mix.hpp"
#include "plan/image_tree.hpp"
#include "slow_target.hpp"
#include "targets/blocking_session.hpp"
#include "util/object_set.hpp"
#include "util/random.hpp"
#include "workloads/synthesizer.hpp"

using namespace fsr;

namespace {

WorkingSetOptions shared(unsigned streams, unsigned directories, unsigned openers = 1) {
  WorkingSetOptions options;
  for (unsigned n = 0; n < streams; ++n) options.numbers.push_back(n);
  options.directories = directories;
  options.neighbours = (streams + directories - 1) / directories;
  options.openers = openers;
  return options;
}

// A mix that has every procedure of version 4 for which calls are made, but those that need a server of version 4.2.
Mix mix_of_version_4() {
  return make_mix(4,
                  {{"access", 5},  {"close", 10}, {"commit", 3},  {"create", 4}, {"getattr", 10}, {"link", 4},    {"lock", 5},
                   {"lockt", 3},   {"locku", 4},  {"lookup", 10}, {"open", 10},  {"read", 10},    {"readdir", 3}, {"readlink", 3},
                   {"remove", 10}, {"rename", 4}, {"setattr", 3}, {"write", 8},  {"seek", 2},     {"copy", 2}},
                  "test");
}

Mix mix_of_version_3() {
  return make_mix(3,
                  {{"getattr", 10},
                   {"setattr", 5},
                   {"lookup", 10},
                   {"readlink", 4},
                   {"read", 10},
                   {"write", 10},
                   {"create", 8},
                   {"remove", 14},
                   {"rename", 6},
                   {"link", 5},
                   {"symlink", 5},
                   {"mkdir", 6},
                   {"rmdir", 6},
                   {"mknod", 5},
                   {"readdir", 4},
                   {"readdirplus", 4},
                   {"commit", 3}},
                  "test");
}

// The calls of each stream, in order, with the memory of their names.
struct Calls {
  std::vector<std::unique_ptr<OpBatch>> batches;
  std::map<ThreadId, std::vector<const Op*>> of;
};

Calls calls_of(Synthesizer& source) {
  Calls calls;
  for (;;) {
    auto batch = std::make_unique<OpBatch>();
    if (!source.next(*batch)) return calls;
    for (const Op& op : batch->ops) calls.of[op.thread].push_back(&op);
    calls.batches.push_back(std::move(batch));
  }
}

}  // namespace

TEST_CASE("Streams that share directories get the expected outcomes, in any order between them") {
  MonotonicClock clock;
  for (const Mix& mix : {mix_of_version_3(), mix_of_version_4(), *built_in_mix("sfs97-v3"), *built_in_mix("sfs97-v2")}) {
    auto target = open_target("memory:", {.clock = &clock});
    const MixPlan plan = plan_mix(mix, *target, true);
    INFO(mix.nfs_version << ", " << mix.dialect);
    const auto sizes = size_model("nhfsstone");
    const WorkingSet set(shared(60, 4, 3), plan, *sizes);
    CHECK(set.directories().size() == 4);
    Image image = set.image();
    ObjectSet known;
    REQUIRE(prepare(image, *target, clock, {.ours = is_working_name, .workers = 1}, known).failed == 0);
    Synthesizer source({.calls = 30'000, .duration = 30'000, .seed = 5}, plan, set, *sizes);
    Calls calls = calls_of(source);
    CHECK(calls.of.size() == 60);
    BlockingSession session(*target, clock);
    Random random(1);
    std::map<std::pair<ObjectId, std::string>, ThreadId> makers;  // of names
    std::vector<std::pair<std::vector<const Op*>*, size_t>> going;
    for (auto& [thread, ops] : calls.of) going.push_back({&ops, 0});
    uint64_t wrong = 0, foreign = 0, kinds = 0;
    const std::string payload(1 << 20, 'x');
    while (!going.empty()) {
      const size_t at = random.below(going.size());
      const Op& op = *(*going[at].first)[going[at].second];
      const Outcome& o = session.perform(op, op.kind == OpKind::write ? std::string_view(payload).substr(0, op.length) : "");
      const bool listed = op.kind == OpKind::readdir || op.kind == OpKind::readdirplus;
      if (o.error != op.error || ((listed || result_compared(op.kind)) && o.result != op.result)) {
        UNSCOPED_INFO(op_name(op.kind) << " " << op.name << ": " << o.error << ", " << o.result << " not " << op.result);
        ++wrong;
      }
      const bool changes = op.has(kOpCreated) || op.kind == OpKind::mkdir || op.kind == OpKind::symlink ||
                           op.kind == OpKind::mknod || op.kind == OpKind::unlink || op.kind == OpKind::rmdir;
      if (changes) foreign += makers.try_emplace({op.parent, std::string(op.name)}, op.thread).first->second != op.thread;
      if (op.kind == OpKind::link || op.kind == OpKind::rename)
        foreign += makers.try_emplace({op.parent2, std::string(op.name2)}, op.thread).first->second != op.thread;
      kinds |= uint64_t(1) << unsigned(op.kind);
      if (++going[at].second < going[at].first->size()) continue;
      going[at] = going.back();
      going.pop_back();
    }
    CHECK(wrong == 0);
    CHECK(foreign == 0);
    for (const PlannedProcedure& p : plan.procedures)
      if (p.planned > 0) {
        uint64_t dealt = 0;
        for (uint64_t count : source.dealt()[size_t(&p - plan.procedures.data())]) dealt += count;
        INFO(p.name);
        CHECK(std::abs(double(dealt) / 30'000 - p.planned) < 0.004);
      }
    auto has = [&](OpKind kind) { return (kinds >> unsigned(kind) & 1) != 0; };
    if (mix.nfs_version == 4) CHECK((has(OpKind::setlk) && has(OpKind::rename) && has(OpKind::release)));
  }
}

TEST_CASE("A stream that shares a directory takes less than 2 KiB of memory") {
  constexpr unsigned kStreams = 20'000;
  VirtualClock clock;
  SlowTarget target(clock);
  for (const Mix& mix : {*built_in_mix("sfs97-v3"), mix_of_version_3(), mix_of_version_4()}) {
    const MixPlan plan = plan_mix(mix, target, true);
    const auto sizes = size_model("sfs");
    const size_t before = mallinfo2().uordblks;
    size_t most = 0;
    uint64_t calls = 0;
    target.latency = [&](const Op&) {
      target.done = {};
      if (++calls % 10'000 == 0) most = std::max<size_t>(most, mallinfo2().uordblks);
      return 1000;
    };
    target.answer = [](TargetRequest& request) {
      request.outcome.error = request.op->error;
      request.outcome.result = request.op->result;
      request.outcome.data = request.op->data;
    };
    target.limit = 64;  // requests in flight, whose memory is the target's
    const WorkingSet set(shared(kStreams, 10), plan, *sizes);
    const RunResult r =
        MixRun(plan, set, *sizes, 1, 30 * kStreams).run(target, clock, {.timing = Timing::asap, .inline_workers = true});
    CHECK(r.issued() == 30 * kStreams);
    CHECK(r.differed() == 0);
    INFO((most - before) / kStreams);
    CHECK((most - before) / kStreams < 2048);
  }
}

TEST_CASE("Openers of shared directories have instances of their own, and all are closed") {
  VirtualClock clock;
  SlowTarget target(clock);
  const MixPlan plan = plan_mix(*built_in_mix("sfs97-v3"), target, true);
  const WorkingSet set(shared(10, 4, 3), plan, *size_model("sfs"));
  const Image image = set.image();
  std::set<HandleId> opened;
  std::vector<ThreadId> threads;
  for (const auto& open : image.impl().tree.opens) {
    CHECK(opened.insert(open.handle).second);
    if (open.directory) threads.push_back(open.thread);
  }
  CHECK(threads == std::vector<ThreadId>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(opened.size() == 10 * (1 + kOpenFiles));
  OpBatch batch;
  const auto closing = set.closing();
  while (closing->next(batch))
    for (const Op& op : batch.ops) CHECK(opened.erase(op.handle) == 1);
  CHECK(opened.empty());
  for (size_t i = 0; i < 10; ++i) CHECK(set.stream(i).index == i / 4);
}

TEST_CASE("Shared directories are refused where they can't be") {
  const Mix& mix = *built_in_mix("sfs97-v3");
  auto options = [](unsigned streams, unsigned directories) {
    MixOptions o;
    o.streams = streams;
    o.directories = directories;
    return o;
  };
  CHECK_THROWS_WITH(MixInput(mix, options(20'000, 0)), contains_text("at most 10000"));
  CHECK_THROWS_WITH(MixInput(mix, options(10, 11)), contains_text("at most one for each of 10 streams"));
  MixInput few(mix, options(10, 2));
  CHECK_THROWS_WITH(few.take_share(0, 3, false), contains_text("at least one for each of 3 ranks"));
}

TEST_CASE("A directory belongs to one rank") {
  VirtualClock clock;
  SlowTarget target(clock);
  std::multiset<std::string> names;
  uint64_t streams = 0;
  for (unsigned rank = 0; rank < 3; ++rank) {
    MixOptions options;
    options.streams = 50;
    options.directories = 7;
    MixInput input(*built_in_mix("sfs97-v3"), options);
    input.take_share(rank, 3, false);
    streams += unsigned(std::stoul(input.settings().substr(std::string("--streams ").size())));
    CHECK(input.next_round());
    const Image image = input.image(target, {}, {});
    for (const auto& name : image.impl().tree.names)
      if (name.parent == kRootObject) names.insert(name.name);
  }
  CHECK(streams == 50);
  CHECK(names.size() == 7);
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == 7);
}

TEST_CASE("A mix that makes no files has no renames in shared directories, and says so") {
  VirtualClock clock;
  SlowTarget target(clock);
  const Mix mix = make_mix(3, {{"getattr", 50}, {"rename", 50}}, "test");
  CHECK(plan_mix(mix, target).share(Action::rename) == 0.5);
  const MixPlan plan = plan_mix(mix, target, true);
  CHECK(plan.share(Action::rename) == 0);
  CHECK(plan.notes.size() == 1);
}
