// SPDX-License-Identifier: Apache-2.0
// Tests streams of a mix that share directories: no outcome depends on a neighbour, and a stream takes little memory.
#include <malloc.h>
#include <sys/stat.h>

#include <climits>
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
#include "inputs/mix/test_directories.hpp"
#include "mix/mix.hpp"
#include "plan/image_tree.hpp"
#include "slow_target.hpp"
#include "targets/blocking_session.hpp"
#include "util/object_set.hpp"
#include "util/random.hpp"
#include "workloads/share_dealer.hpp"
#include "workloads/synthesizer.hpp"

namespace fsr::shared_directories_test {

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
  constexpr unsigned kStreams = 5'000;
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

TEST_CASE("A stream that can play no card of a round gets another call of the mix, never one that the mix does not have") {
  VirtualClock clock;
  SlowTarget target(clock);
  target.answer = [](TargetRequest& request) {
    request.outcome.error = request.op->error;
    request.outcome.result = request.op->result;
  };
  const MixPlan plan = plan_mix(make_mix(3, {{"rename", 999}, {"create", 1}}, "test"), target, true);
  const auto sizes = size_model("sfs");
  const WorkingSet set(shared(10, 1), plan, *sizes);
  MixRun run(plan, set, *sizes, 1, 1000);
  CHECK(run.run(target, clock, {.timing = Timing::asap, .inline_workers = true}).issued() == 1000);
  uint64_t renames = 0, creates = 0, others = 0;
  for (const Dealt& procedure : run.dealt())
    for (unsigned kind = 0; kind < kOpKinds; ++kind)
      (OpKind(kind) == OpKind::rename ? renames : OpKind(kind) == OpKind::create ? creates : others) += procedure[kind];
  CHECK(others == 0);
  CHECK(creates >= 10);
  CHECK(renames + creates == 1000);
}

TEST_CASE("Cards that no stream could play for many rounds come a few at a time, and rounds stay short") {
  const double shares[] = {0.99, 0.01};
  ShareDealer deck(shares, Random(1));
  deck.limit_backlog();
  uint64_t looked = 0;
  auto only_first = [&](unsigned card) { return ++looked, card == 0; };
  for (unsigned i = 0; i < 100'000; ++i) REQUIRE(deck.deal(only_first) == 0u);
  CHECK(looked < 500'000);
  // The second has 4 in a round of some 200, twice as many as its share is.
  uint64_t second = 0;
  for (unsigned i = 0; i < 20'000; ++i) second += deck.deal([](unsigned) { return true; }) == 1u;
  CHECK(second > 300);
  CHECK(second < 450);
}

TEST_CASE("Openers of shared directories are spread over all clients alike") {
  // Clients, directories and streams of a directory; all clients have the same number of openers, if a reasonable number allows.
  CHECK(openers_for(1, 100, 10) == 1);
  CHECK(openers_for(1000, 100, 1000) == 10);  // of one of 10 ranks, with its share of 1,000 directories
  CHECK(openers_for(10, 4, 100) == 5);
  CHECK(openers_for(10, 4, 3) == 3);
  CHECK(openers_for(4, 12, 100) == 1);
  CHECK(openers_for(10'000, 9'999, 100) == 5);
}

TEST_CASE("A stream uses files that its own client has opened") {
  VirtualClock clock;
  SlowTarget target(clock);
  const MixPlan plan = plan_mix(*built_in_mix("sfs97-v3"), target, true);
  for (const auto& [clients, directories] : {std::pair(10u, 4u), std::pair(6u, 9u), std::pair(5u, 7u)}) {
    const WorkingSet set(shared(630, directories, openers_for(clients, directories, 630 / directories)), plan,
                         *size_model("sfs"));
    // Clients get streams in the order of their first operations: those that open files first.
    std::map<HandleId, unsigned> client_of_listing;
    const Image image = set.image();
    unsigned next = 0;
    for (const auto& open : image.impl().tree.opens)
      if (open.directory) client_of_listing[open.handle] = next++ % clients;
    CHECK(next % clients == 0);
    uint64_t foreign = 0;
    for (size_t i = 0; i < set.streams(); ++i) {
      const StreamPlace place = set.stream(i);
      foreign += client_of_listing.at(place.files->listing + place.handles) != i % clients;
    }
    CHECK(foreign == 0);
  }
}

namespace {

// A target that has a number of clients, as an NFS server has.
class ManyClients final : public Target {
 public:
  explicit ManyClients(uint32_t clients) : clients_(clients) {}
  std::string name() const override { return "many:"; }
  Fidelity fidelity(const Op&) const override { return Fidelity::exact; }
  std::unique_ptr<TargetSession> open_session() override { throw std::logic_error("not used"); }
  uint32_t number_of_clients() const override { return clients_; }

 private:
  const uint32_t clients_;
};

}  // namespace

TEST_CASE("Each client of a rank has an opener in the directories of the rank") {
  MixOptions options;
  options.streams = 2000;
  options.directories = 100;
  MixInput input(*built_in_mix("sfs97-v3"), options);
  input.take_share(3, 10, false);
  CHECK(input.next_round());
  const ManyClients target(100);  // the share of the rank, in its 10 directories
  const Image image = input.image(target, {}, {});
  uint64_t openers = 0;
  for (const auto& open : image.impl().tree.opens) openers += open.directory;
  CHECK(openers == 100);
}

TEST_CASE("The check of what an earlier run left shows signs of life, and can be stopped") {
  MonotonicClock clock;
  auto target = open_target("memory:", {.clock = &clock});
  const MixPlan plan = plan_mix(mix_of_version_3(), *target, true);
  const WorkingSet set(shared(2, 1), plan, *size_model("sfs"));
  Image image = set.image();
  ObjectSet known;
  REQUIRE(prepare(image, *target, clock, {.ours = is_working_name, .workers = 1}, known).failed == 0);
  constexpr unsigned kLeft = 300;
  BlockingSession session(*target, clock);
  ObjectId next = set.next_object() + 1'000'000, last = 0;
  for (unsigned i = 0; i < kLeft; ++i) {
    const std::string name = std::to_string(1000 + i);
    const Outcome& made = session.perform({.kind = OpKind::mkdir,
                                           .mode = S_IFDIR | 0777,
                                           .object = last = next++,
                                           .parent = set.directories()[0].directories,
                                           .name = name});
    REQUIRE(made.error == 0);
  }
  unsigned asked = 0, most = UINT_MAX;
  auto go_on = [&] { return ++asked <= most; };
  auto check = [&](ObjectId first_free) { return refuse_foreign_files(*target, clock, set.directories(), first_free, go_on); };
  CHECK(check(next));
  CHECK(asked >= kLeft);
  asked = 0;
  most = 20;
  CHECK(!check(next + 10'000));
  CHECK(asked == most + 1);
  // The check looks into the directories that were left, because files that a user has put there would be removed.
  most = UINT_MAX;
  REQUIRE(
      session.perform({.kind = OpKind::mknod, .mode = S_IFREG | 0666, .object = next + 20'000, .parent = last, .name = "mine"})
          .error == 0);
  CHECK_THROWS_WITH(check(next + 30'000), contains_text("/mine"));
}

}  // namespace fsr::shared_directories_test
