// SPDX-License-Identifier: Apache-2.0
// Tests the distribution of one trace over ranks: which rank gets which operation, and what each rank learns of the others.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "base/added_lookup.hpp"
#include "base/clock.hpp"
#include "base/target.hpp"
#include "catch.hpp"
#include "cluster/cluster.hpp"
#include "engine/prepare.hpp"
#include "engine/run.hpp"
#include "model_traces.hpp"
#include "op_list.hpp"
#include "plan/image_tree.hpp"
#include "plan/split_source.hpp"
#include "trace/live_state.hpp"
#include "trace/paths.hpp"

namespace fsr::split_test {

namespace {

struct Analyzed {
  Image image;
  TraceSplit split;
};

Analyzed analyze(const std::vector<Op>& ops, unsigned ranks) {
  OpList source(ops);
  SplitSurvey survey(1 << 30);
  Analyzed made;
  made.image = Image::analyze(source, LiveState(), {}, {}, &survey);
  made.split = survey.deal(ranks, made.image.impl().tree);
  return made;
}

// Returns the operations of a rank, which knows only the objects of the image. `names`: stores the names of the operations.
std::vector<Op> ops_of(const std::vector<Op>& ops, const Analyzed& analyzed, unsigned rank, std::deque<std::string>& names) {
  ObjectSet known;
  for (const ImageName& name : analyzed.image.impl().tree.names) known.insert(analyzed.image.impl().tree.objects[name.object].id);
  OpList source(ops);
  SplitSource split(source, analyzed.split, rank, known, {});
  std::vector<Op> all;
  for (OpBatch batch; split.next(batch);)
    for (Op op : batch.ops) {
      op.name = names.emplace_back(op.name);
      op.name2 = names.emplace_back(op.name2);
      all.push_back(op);
    }
  return all;
}

std::vector<Op> ms(std::vector<Op> ops) {  // times in ms where test operations have us
  for (Op& op : ops) op.start *= 1000, op.duration *= 1000;
  return ops;
}

class Directory {
 public:
  Directory() {
    std::string path = std::filesystem::temp_directory_path() / "fsshim-test.XXXXXX";
    path_ = mkdtemp(path.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("a split trace has each operation once, in its order, and no open file on two ranks") {
  const ModelShape shape{"split",
                         7,
                         true,
                         false,
                         {OpKind::lookup, OpKind::create, OpKind::mkdir, OpKind::unlink, OpKind::rename, OpKind::link,
                          OpKind::opendir, OpKind::getattr, OpKind::setlk, OpKind::flush},
                         {"user.x"},
                         0.5,
                         true};
  unsigned whole = 0, learnt = 0;
  for (unsigned seed = 1; seed <= 200; ++seed)
    for (unsigned ranks : {2u, 3u}) {
      CAPTURE(seed, ranks);
      ModelTraces model(shape, seed);  // holds the names of the trace
      const ModelTrace trace = model.run(kMostModelOps);
      Analyzed analyzed;
      try {
        analyzed = analyze(trace.ops, ranks);
      } catch (const std::runtime_error&) {  // too few groups of threads
        continue;
      }
      ++whole;
      std::set<uint64_t> done;
      std::map<HandleId, unsigned> opened;
      uint64_t operations = 0;
      std::deque<std::string> names;
      for (unsigned rank = 0; rank < ranks; ++rank) {
        int64_t before = 0;
        std::set<ObjectId> looked_up;
        uint64_t own = 0, last = 0;
        for (const Op& op : ops_of(trace.ops, analyzed, rank, names)) {
          REQUIRE(op.start >= before);
          before = op.start;
          if (is_added_lookup(op)) {
            learnt += looked_up.insert(op.object).second;
            continue;
          }
          REQUIRE(analyzed.split.rank_of(op.thread) == rank);
          REQUIRE(done.insert(op.seq).second);
          REQUIRE((own == 0 || op.seq > last));
          last = op.seq;
          ++own;
          if (op.handle) REQUIRE(opened.try_emplace(op.handle, rank).first->second == rank);
        }
        REQUIRE(own == analyzed.split.shares[rank].operations);
        operations += own;
      }
      REQUIRE(operations == trace.ops.size());
      REQUIRE(analyzed.split.cut <= analyzed.split.waits);
      REQUIRE((analyzed.split.cut == 0) == analyzed.split.first_cut.empty());
    }
  CHECK(whole > 100);
  CHECK(learnt > 100);
}

namespace {

// The names under which objects can be reached.
class Places {
 public:
  using Name = std::pair<ObjectId, std::string>;

  void put(ObjectId object, ObjectId parent, std::string_view name) { names_[object].emplace(parent, name); }
  void take(ObjectId object, ObjectId parent, std::string_view name) { names_[object].erase(Name(parent, name)); }
  void apply(const Op& op) {
    if (op.error || op.has(kOpUnfinished) || (op.object && op.object == op.object2)) return;
    if (op.kind == OpKind::rename) take(op.object, op.parent, op.name);
    if (op.kind == OpKind::rename) take(op.object2, op.parent2, op.name2);
    visit_names(
        op, [&](ObjectId parent, std::string_view name, ObjectId object) { put(object, parent, name); },
        [&](ObjectId parent, std::string_view name, ObjectId object) { take(object, parent, name); });
  }
  void learn(const Op& op) {
    if (!only_forgets(op)) put(op.object, op.parent, op.name);
    if (op.parent2) take(op.object, op.parent2, op.name2);
  }
  const std::set<Name>& of(ObjectId object) { return names_[object]; }

 private:
  std::map<ObjectId, std::set<Name>> names_;
};

}  // namespace

TEST_CASE("a rank of a split trace knows each object that it uses by a current name, whichever rank renamed it") {
  const ModelShape shape{
      "moves",
      5,
      false,
      false,
      {OpKind::lookup, OpKind::create, OpKind::mkdir, OpKind::unlink, OpKind::rename, OpKind::link, OpKind::getattr},
      {},
      0,
      true};
  unsigned used = 0, moved = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    ModelTraces model(shape, seed);  // holds the names of the trace
    const ModelTrace trace = model.run(kMostModelOps);
    Analyzed analyzed;
    try {
      analyzed = analyze(trace.ops, 2);
    } catch (const std::runtime_error&) {
      continue;
    }
    for (unsigned rank = 0; rank < 2; ++rank) {
      std::deque<std::string> names;
      const std::vector<Op> given = ops_of(trace.ops, analyzed, rank, names);
      Places truth, known;
      const ImageTree& image = analyzed.image.impl().tree;
      for (const ImageName& name : image.names)
        for (Places* places : {&truth, &known}) places->put(image.objects[name.object].id, name.parent, name.name);
      size_t next = 0;
      for (const Op& op : trace.ops) {
        const size_t learnt = next;
        while (next < given.size() && is_added_lookup(given[next])) ++next;
        if (next == given.size() || given[next].seq != op.seq) {
          next = learnt;
          truth.apply(op);
          continue;
        }
        for (size_t i = learnt; i < next; ++i) {
          moved += given[i].parent2 != kNoObject;
          known.learn(given[i]);
        }
        ++next;
        if (op.object > kRootObject && !op.handle && !op.error && !makes_object(op)) {
          ++used;
          CAPTURE(op.seq, op.object);
          for (const Places::Name& name : known.of(op.object)) REQUIRE(truth.of(op.object).contains(name));
          REQUIRE(known.of(op.object).empty() == truth.of(op.object).empty());
        }
        truth.apply(op);
        known.apply(op);
      }
    }
  }
  CHECK(used > 1000);
  CHECK(moved > 100);
}

TEST_CASE("a split trace keeps threads together that share an open file, a lock or an unlinked file") {
  std::vector<Op> ops;
  for (ThreadId thread = 1; thread <= 8; ++thread)
    ops.push_back(create_op({thread, thread + 1, thread}, 1, "own", 10 + thread, 10 + thread));
  ops.push_back(io_op({20, 21, 2}, OpKind::write, 11, 11));  // uses an open instance of thread 1
  Op lock = object_op({30, 31, 3}, OpKind::setlk, 50, 13);
  ops.push_back(lock);
  lock.thread = 4, lock.start += 10'000, lock.handle = 14;
  ops.push_back(lock);
  ops.push_back(name_op({50, 51, 6}, OpKind::unlink, 1, "own", 15));  // thread 5 has the file open
  const TraceSplit split = analyze(ops, 3).split;
  CHECK(split.rank_of(1) == split.rank_of(2));
  CHECK(split.rank_of(3) == split.rank_of(4));
  CHECK(split.rank_of(5) == split.rank_of(6));
  std::set<unsigned> used;
  for (ThreadId thread = 1; thread <= 8; ++thread) used.insert(split.rank_of(thread));
  CHECK(used.size() == 3);
}

TEST_CASE("a split trace distributes independent threads evenly, and cuts no wait") {
  std::vector<Op> ops;
  for (int64_t i = 0; i < 1000; ++i) {
    const auto thread = ThreadId(1 + i % 10);
    ops.push_back(object_op({i * 10, i * 10 + 5, thread}, OpKind::getattr, 100 + thread));
  }
  const TraceSplit split = analyze(ops, 5).split;
  CHECK(split.cut == 0);
  CHECK(split.waits == 990);  // each for the previous one of its thread
  for (const TraceSplit::Share& share : split.shares) {
    CHECK(share.operations == 200);
    CHECK(share.streams == 2);
    CHECK(std::abs(share.load - 0.2) < 1e-9);
  }
}

TEST_CASE("a split trace keeps dependent threads together, and reports lost waits") {
  // Threads 1 and 2 use each other's files, and so do 3 and 4. Once, 3 uses a file of 1.
  std::vector<Op> ops;
  int64_t at = 0;
  ObjectId next = 10;
  std::deque<std::string> names;
  auto pass_on = [&](ThreadId from, ThreadId to) {
    const std::string& name = names.emplace_back("f" + std::to_string(next));
    ops.push_back(create_op({at, at + 1, from}, 1, name, next, 0));
    ops.push_back(name_op({at + 2, at + 3, to}, OpKind::lookup, 1, name, next));
    at += 10;
    ++next;
  };
  for (int i = 0; i < 20; ++i) pass_on(1, 2), pass_on(4, 3);
  pass_on(1, 3);
  const TraceSplit split = analyze(ops, 2).split;
  CHECK(split.rank_of(1) == split.rank_of(2));
  CHECK(split.rank_of(3) == split.rank_of(4));
  CHECK(split.rank_of(1) != split.rank_of(3));
  CHECK(split.cut == 1);
  CHECK(split.first_cut == std::vector<std::string>{"lookup f50 of thread 3 waits for create of thread 1"});
}

TEST_CASE("a split trace has nothing for ranks beyond the number of groups") {
  std::vector<Op> ops = {create_op({0, 1, 1}, 1, "a", 10, 5), io_op({2, 3, 2}, OpKind::read, 10, 5),
                         object_op({4, 5, 3}, OpKind::getattr, 1)};
  CHECK(analyze(ops, 2).split.shares.size() == 2);
  const TraceSplit split = analyze(ops, 3).split;
  uint64_t operations = 0;
  for (const TraceSplit::Share& share : split.shares) operations += share.operations;
  CHECK(operations == ops.size());
  CHECK(split.shares.size() == 3);
  CHECK(std::ranges::count(split.shares, 0u, &TraceSplit::Share::operations) == 1);
  CHECK(split.cut == 0);
}

TEST_CASE("a rank of a split trace looks up an object of another rank before its first use, after its directories") {
  std::vector<Op> ops = {name_op({0, 1, 1}, OpKind::mkdir, 1, "d", 10),
                         name_op({2, 3, 1}, OpKind::mkdir, 10, "e", 11),
                         create_op({4, 5, 1}, 11, "tmp", 12, 0),
                         op_at({6, 7, 1}, OpKind::rename),
                         object_op({1000, 1001, 2}, OpKind::getattr, 12),
                         object_op({2000, 2001, 2}, OpKind::getattr, 12),
                         name_op({2002, 2003, 1}, OpKind::unlink, 11, "f", 12)};
  ops[3].parent = ops[3].parent2 = 11;
  ops[3].name = "tmp", ops[3].name2 = "f", ops[3].object = 12;
  Analyzed analyzed = analyze(ops, 2);
  OpList source(ops);
  const ObjectSet known;
  SplitSource split(source, analyzed.split, analyzed.split.rank_of(2), known, {.scale = 2});
  OpBatch batch;
  REQUIRE(split.next(batch));
  std::vector<std::string> given;
  do
    for (const Op& op : batch.ops)
      given.push_back(std::string(op_name(op.kind)) + " " + std::to_string(op.parent) + " " + std::string(op.name) + " " +
                      std::to_string(op.object) + (is_added_lookup(op) ? " " + std::to_string(op.length / 1000) : "") +
                      (op.parent2 ? " without " + std::string(op.name2) + " in " + std::to_string(op.parent2) : ""));
  while (split.next(batch));
  CHECK(given == std::vector<std::string>{"lookup 1 d 10 1000500", "lookup 10 e 11 1000499", "lookup 11 f 12 1000497",
                                          "getattr 0  12", "getattr 0  12", "lookup 0  12 0 without f in 11"});
  CHECK(split.learnt() == 3);
}

namespace {

// Passes requests on to another target and counts them.
class CountedTarget final : public Target {
 public:
  explicit CountedTarget(Target& beneath) : beneath_(beneath) {}
  std::string name() const override { return beneath_.name(); }
  Fidelity fidelity(const Op& op) const override { return beneath_.fidelity(op); }
  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<CountedSession>(*this); }
  std::atomic<unsigned> given = 0;

 private:
  class CountedSession final : public TargetSession {
   public:
    explicit CountedSession(CountedTarget& target) : target_(target), beneath_(target.beneath_.open_session()) {}
    Submit submit(TargetRequest& request) override {
      ++target_.given;
      return beneath_->submit(request);
    }
    void poll(int64_t deadline, int wake, Completion& sink) override { beneath_->poll(deadline, wake, sink); }

   private:
    CountedTarget& target_;
    const std::unique_ptr<TargetSession> beneath_;
  };
  Target& beneath_;
};

// Runs two operations: an added lookup that may be repeated for `timeout` ns, and a getattr of the object that it finds.
RunResult learn(Target& target, Clock& clock, int64_t timeout) {
  Op lookup = name_op({0, 0, 1}, OpKind::lookup, 1, "late", 20);
  lookup.op_flags = kOpKernel;
  lookup.length = uint64_t(timeout);
  struct Source final : OpSource {
    std::vector<Op> ops;
    bool next(OpBatch& batch) override {
      batch.clear();
      batch.ops.swap(ops);
      return !batch.ops.empty();
    }
  } source;
  source.ops = {lookup, object_op({0, 1, 1}, OpKind::getattr, 20)};
  source.ops[0].seq = kFirstAddedLookup;
  return run(source, target, clock, {.workers = 2});
}

}  // namespace

TEST_CASE("a rank waits for objects that another process creates, and the waits do not count as operations", "[threads]") {
  const Directory directory;
  MonotonicClock clock;
  const std::unique_ptr<Target> files = open_target("file:" + directory.path(), {.clock = &clock});
  CountedTarget target(*files);
  std::thread other([&] {
    while (target.given == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    mkdir((directory.path() + "/late").c_str(), 0700);
  });
  const RunResult r = learn(target, clock, 60'000'000'000);
  other.join();
  CHECK(r.issued() == 1);
  CHECK(r.operations == 1);
  CHECK(r.matched() == 1);
  CHECK(r.cancelled == 0);
  CHECK(r.auxiliary == target.given - 1);
  CHECK(r.auxiliary > 1);
  CHECK(r.waiting.max() > 30'000'000);
  CHECK(r.violations == 0);
}

TEST_CASE("a rank waits for objects that no process creates only up to the limit", "[threads]") {
  const Directory directory;
  MonotonicClock clock;
  const std::unique_ptr<Target> files = open_target("file:" + directory.path(), {.clock = &clock});
  const RunResult r = learn(*files, clock, 30'000'000);
  CHECK(r.issued() == 1);
  CHECK(r.differed() == 1);
  CHECK(r.elapsed >= 30'000'000);
}

namespace {

struct Together {
  std::atomic<uint64_t> ranks, issued, matched, learnt, prepared;
};

// Runs a trace on forked ranks in one directory, and returns the sums of all ranks.
Together& run_together(const std::vector<Op>& ops, unsigned ranks, const std::string& directory) {
  static void* const memory = mmap(nullptr, sizeof(Together), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Together& all = *new (memory) Together();
  const auto before = std::signal(SIGTERM, SIG_IGN);  // ranks are ended by this signal, as in programs with a handler
  std::unique_ptr<Cluster> cluster = open_cluster({.ranks = ranks});
  if (cluster->root()) std::signal(SIGTERM, before);
  {
    Analyzed analyzed = analyze(ops, ranks);
    MonotonicClock clock;
    const std::unique_ptr<Target> target = open_target("file:" + directory, {.clock = &clock});
    ObjectSet known;
    const unsigned own = cluster->rank();
    for (PrepareStep step : {PrepareStep::contents, PrepareStep::look_up, PrepareStep::seal, PrepareStep::open}) {
      const bool of_root = step == PrepareStep::contents || step == PrepareStep::seal;
      PrepareOptions options{.step = step, .trace_id = "t", .workers = 1};
      options.opens = [&](HandleId handle) { return analyzed.split.rank_of_open(handle) == own; };
      if (step == PrepareStep::open || of_root == cluster->root())
        all.prepared += prepare(analyzed.image, *target, clock, options, known).failed == 0;
      cluster->barrier();
    }
    OpList source(ops);
    SplitSource split(source, analyzed.split, own, known, {});
    RunOptions options{.workers = 2, .known = &known};
    options.meet = [&] { return common_start(*cluster, {}, 20'000'000); };
    const RunResult r = run(split, *target, clock, options);
    all.issued += r.issued();
    all.matched += r.matched();
    all.learnt += split.learnt();
    ++all.ranks;
    cluster->barrier();
  }
  if (!cluster->root()) {
    cluster.reset();
    _exit(0);
  }
  return all;
}

}  // namespace

TEST_CASE("a split trace on a shared directory has every recorded outcome") {
  // One file was open at the start, one was open without a name, and one existed. Threads 2 and 3 use what thread 1 makes.
  std::vector<Op> ops = {io_op({0, 1, 3}, OpKind::read, 70, 9, 0, 100),
                         name_op({1, 2, 2}, OpKind::lookup, 1, "old", 71),
                         name_op({2, 3, 1}, OpKind::lookup, 1, "old", 71),
                         name_op({3, 4, 1}, OpKind::mkdir, 1, "d", 10),
                         create_op({5, 6, 1}, 10, "tmp", 11, 1),
                         io_op({7, 8, 1}, OpKind::write, 11, 1, 0, 5000),
                         object_op({9, 10, 1}, OpKind::release, 11, 1),
                         op_at({11, 12, 1}, OpKind::rename),
                         name_op({60, 61, 2}, OpKind::lookup, 10, "f", 11),
                         object_op({62, 63, 2}, OpKind::open, 11, 2),
                         io_op({64, 65, 2}, OpKind::read, 11, 2, 0, 5000),
                         object_op({66, 67, 2}, OpKind::release, 11, 2),
                         create_op({68, 69, 2}, 10, "g", 12, 3),
                         object_op({70, 71, 2}, OpKind::release, 12, 3),
                         object_op({120, 121, 3}, OpKind::getattr, 12),
                         name_op({122, 123, 3}, OpKind::unlink, 10, "g", 12),
                         name_op({170, 171, 1}, OpKind::lookup, 10, "g", 0, ENOENT)};
  ops[7].parent = ops[7].parent2 = 10;
  ops[7].name = "tmp", ops[7].name2 = "f", ops[7].object = 11;
  ops = ms(ops);
  const Directory directory;
  const Together& all = run_together(ops, 3, directory.path());
  CHECK(all.ranks == 3);
  CHECK(all.prepared == 7);  // steps: 3 of the root, 2 of each other rank
  CHECK(all.issued == ops.size());
  CHECK(all.matched == ops.size());
  CHECK(all.learnt == 4);  // the directory and a file in it, on two ranks
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path()))
    left.insert(entry.path().lexically_relative(directory.path()));
  CHECK(left == std::set<std::string>{".fsreplay", "d", "d/f", "old"});
  CHECK(std::filesystem::file_size(directory.path() + "/d/f") == 5000);
}

}  // namespace fsr::split_test
