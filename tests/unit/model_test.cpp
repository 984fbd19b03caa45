// SPDX-License-Identifier: Apache-2.0
// Tests models of loads: what is learned is made up again, outcomes hold in the invented tree, and a file gives nothing away.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>

#include "catch.hpp"
#include "model/learner.hpp"
#include "model/model_file.hpp"
#include "model/model_source.hpp"
#include "model/urn.hpp"
#include "test_data.hpp"
#include "trace/reader.hpp"
#include "trace/spool.hpp"

namespace fsr::model_test {

namespace {

// A load of processes that look a name up, make the file, write and read it, and remove every second one.
class Load {
 public:
  explicit Load(ModelLearner& learner) : learner_(learner) {}

  void process(ThreadId thread, int64_t start, unsigned files, int32_t parent = 0) {
    ThreadInfo who;
    who.ppid = parent;
    who.id = thread;
    who.pid = who.tid = int32_t(thread) + 100;
    who.command = "secretcommand";
    now_ = start;
    for (unsigned i = 0; i < files; ++i) {
      const std::string name = "secret-name-" + std::to_string(thread) + "-" + std::to_string(i);
      const ObjectId object = ++objects_;
      const HandleId handle = ++handles_;
      const Attr attr{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0600};
      Op op = begin(OpKind::lookup, who);
      op.parent = kRootObject;
      op.name = name;
      op.error = ENOENT;
      add(op);
      op = begin(OpKind::create, who);
      op.parent = kRootObject;
      op.name = name;
      op.object = object;
      op.handle = handle;
      op.op_flags = kOpCreated;
      op.open_flags = O_RDWR | O_CREAT;
      op.mode = S_IFREG | 0600;
      op.attr = &attr;
      add(op);
      for (OpKind kind : {OpKind::write, OpKind::write, OpKind::read}) {
        op = begin(kind, who);
        op.object = object;
        op.handle = handle;
        op.length = op.result = 4096;
        op.offset = kind == OpKind::read ? 0 : written_;
        written_ = kind == OpKind::read ? 0 : written_ + 4096;
        add(op);
      }
      op = begin(OpKind::release, who);
      op.object = object;
      op.handle = handle;
      add(op);
      if (i % 2) continue;
      op = begin(OpKind::unlink, who);
      op.parent = kRootObject;
      op.name = name;
      op.object = object;
      add(op);
    }
  }

 private:
  Op begin(OpKind kind, const ThreadInfo& who) {
    Op op;
    op.kind = kind;
    op.thread = who.id;
    op.who = &who;
    op.start = now_;
    op.duration = 20'000 + now_ / 100'000 % 7 * 1000;
    now_ += 100'000;
    return op;
  }
  void add(const Op& op) { learner_.add(op); }

  ModelLearner& learner_;
  int64_t now_ = 0;
  uint64_t written_ = 0;
  ObjectId objects_ = kRootObject;
  HandleId handles_ = 0;
};

LoadModel model_of(unsigned processes, unsigned files, bool keep_commands = false) {
  ModelLearner learner(keep_commands);
  Load load(learner);
  for (unsigned i = 0; i < processes; ++i) load.process(i + 1, int64_t(i) * 200'000'000, files);
  return learner.finish();
}

std::string words(const Op& op) {
  return std::string(op_name(op.kind)) + " " + std::to_string(op.start) + " " + std::to_string(op.duration) + " " +
         std::to_string(op.object) + " " + std::string(op.name) + " " + std::to_string(op.offset) + " " +
         std::to_string(op.thread) + " " + std::to_string(op.error);
}

struct Made {
  std::vector<std::string> operations;
  std::map<OpKind, uint64_t> kinds;
  ModelCounts counts;
  std::set<ObjectId> parents;
  int64_t last = 0;
  bool outcomes_hold = true, in_order = true;
};

// Makes up a run, and checks each outcome against the names and sizes that the operations before it left.
Made make(const LoadModel& model, const ModelOptions& options) {
  Made made;
  ModelSource source(model, options);
  std::map<std::pair<ObjectId, std::string>, ObjectId> names;
  std::map<ObjectId, uint64_t> sizes;
  std::set<HandleId> open;
  for (OpBatch batch; source.next(batch);)
    for (const Op& op : batch.ops) {
      made.operations.push_back(words(op));
      ++made.kinds[op.kind];
      made.in_order &= op.start >= made.last;
      made.last = op.start;
      const auto at = std::pair(op.parent, std::string(op.name));
      if (op.parent) made.parents.insert(op.parent);
      switch (op.kind) {
        case OpKind::lookup:
          if (op.error == ENOENT) made.outcomes_hold &= !names.contains(at);
          break;
        case OpKind::create:
          made.outcomes_hold &= !names.contains(at);
          names[at] = op.object;
          open.insert(op.handle);
          break;
        case OpKind::write:
          made.outcomes_hold &= open.contains(op.handle);
          sizes[op.object] = std::max(sizes[op.object], op.offset + op.result);
          break;
        case OpKind::read:
          made.outcomes_hold &= open.contains(op.handle);
          if (sizes.contains(op.object)) made.outcomes_hold &= op.result == std::min(op.length, sizes[op.object] - op.offset);
          break;
        case OpKind::release:
          made.outcomes_hold &= open.erase(op.handle) == 1;
          break;
        case OpKind::unlink:
          made.outcomes_hold &= !names.contains(at) || names[at] == op.object;
          names.erase(at);
          break;
        default:
          made.outcomes_hold = false;
      }
    }
  made.counts = source.counts();
  return made;
}

double off(uint64_t is, uint64_t wanted) { return std::abs(double(is) - double(wanted)) / double(wanted); }

std::string error_of(std::string_view bytes) {
  try {
    parse_model(bytes, "x.fsmodel");
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("model: makes up the load that it learned", "[model]") {
  const LoadModel model = model_of(6, 50);
  CHECK(model.operations + model.dropped == 6 * (50 * 6 + 25));
  CHECK(model.dropped <= 1);
  const Made made = make(model, {});
  CHECK(made.outcomes_hold);
  CHECK(made.in_order);
  CHECK(off(made.counts.operations, model.operations) <= 0.02);
  CHECK(off(made.kinds.at(OpKind::write), 600) < 0.05);
  CHECK(off(made.kinds.at(OpKind::unlink), 150) < 0.2);
  CHECK(made.counts.operations == made.operations.size());
}

TEST_CASE("model: the same seed makes the same operations", "[model]") {
  const LoadModel model = model_of(4, 30);
  CHECK(make(model, {.seed = 7}).operations == make(model, {.seed = 7}).operations);
  CHECK(make(model, {.seed = 7}).operations != make(model, {.seed = 8}).operations);
  const LoadModel copy = parse_model(model_bytes(model), "copy");
  CHECK(make(model, {.seed = 7}).operations == make(copy, {.seed = 7}).operations);
}

TEST_CASE("model: a multiple load has as many processes, in directories of their own", "[model]") {
  const LoadModel model = model_of(4, 30);
  for (double load : {0.5, 2.5, 4.0}) {
    const Made made = make(model, {.load = load});
    CHECK(made.outcomes_hold);
    CHECK(off(made.counts.operations, uint64_t(double(model.operations) * load)) <= 0.02);
    CHECK(made.parents.size() >= size_t(std::ceil(load)));
    CHECK(made.parents.contains(kRootObject) == (load < 1));
  }
}

TEST_CASE("model: a load repeats until its time is over", "[model]") {
  const LoadModel model = model_of(6, 50);
  for (double runs : {0.5, 1.4, 5.0}) {
    const Made made = make(model, {.duration = int64_t(runs * double(model.span))});
    CHECK(made.outcomes_hold);
    CHECK(off(made.counts.operations, uint64_t(runs * double(model.operations))) <= 0.02);
  }
}

TEST_CASE("model: a run of a shipped model fills its time with as many operations as are asked for", "[model]") {
  size_t models = 0;
  for (const auto& file : std::filesystem::directory_iterator(test_data("../../models"))) {
    if (file.path().extension() != ".fsmodel") continue;
    ++models;
    const LoadModel model = read_model(file.path());
    for (const auto& [seconds, load] : {std::pair(2, 1.0), {6, 1.0}, {15, 1.0}, {0, 0.4}, {0, 4.0}}) {
      const int64_t duration = seconds ? seconds * 1'000'000'000ll : model.span;
      const int fd = unnamed_file(), copy = dup(fd);
      const ModelCounts counts = write_model_trace(model, {.load = load, .duration = seconds ? duration : 0}, fd);
      TraceReader trace(copy, "trace");
      OpBatch batch;
      int64_t last = 0;
      while (trace.next(batch))
        for (const Op& op : batch.ops) last = std::max(last, op.end());
      INFO(file.path().string() << " for " << seconds << " s, load " << load);
      const double wanted = double(model.operations) * load * double(duration) / double(model.span);
      CHECK(std::abs(double(counts.wanted) - wanted) <= 1);
      CHECK(std::abs(double(counts.operations) - wanted) <= std::max(30.0, 0.02 * wanted));
      CHECK(last <= duration - (seconds ? 20'000'000 : 0));  // a replay that is a little late issues them all
      CHECK(double(last) >= 0.98 * double(duration));
    }
  }
  CHECK(models >= 13);
}

TEST_CASE("model: operations of a small part of a load last no longer than those of the load", "[model]") {
  for (const char* name : {"archive", "git", "sqlite"}) {
    const LoadModel model = read_model(test_data("../../models/" + std::string(name) + ".fsmodel"));
    const auto median = [&](double load) {
      const int fd = unnamed_file(), copy = dup(fd);
      write_model_trace(model, {.load = load}, fd);
      TraceReader trace(copy, "trace");
      OpBatch batch;
      std::vector<int64_t> durations;
      while (trace.next(batch))
        for (const Op& op : batch.ops) durations.push_back(op.duration);
      std::sort(durations.begin(), durations.end());
      return durations[durations.size() / 2];
    };
    INFO(name);
    CHECK(median(0.05) <= 2 * median(1));
  }
}

TEST_CASE("model: a file has no names, commands or content", "[model]") {
  CHECK(model_json(model_of(6, 50)).find("secret") == std::string::npos);
  CHECK(model_json(model_of(6, 50, true)).find("secretcommand") != std::string::npos);
  CHECK(model_json(model_of(6, 50, true)).find("secret-name") == std::string::npos);
}

TEST_CASE("model: what occurred fewer than three times is left out", "[model]") {
  ModelLearner learner(false);
  Load load(learner);
  load.process(1, 0, 20);
  ThreadInfo who;
  who.id = 1;
  Op op;
  op.thread = 1;
  op.start = 1'000'000'000;
  op.kind = OpKind::statfs;
  op.object = kRootObject;
  learner.add(op);
  const LoadModel model = learner.finish();
  CHECK(model.dropped >= 1);
  for (const Symbol& s : model.symbols) CHECK(s.kind != OpKind::statfs);
}

TEST_CASE("model: nothing to learn from is an error", "[model]") {
  ModelLearner learner(false);
  CHECK_THROWS_WITH(learner.finish(), "no operations to learn from");
}

TEST_CASE("model: a file is read as it was written", "[model]") {
  LoadModel model = model_of(6, 50);
  model.between_runs["mix"] = 0.125;
  const std::string bytes = model_bytes(model);
  CHECK(looks_like_model(bytes));
  CHECK(bytes.size() < 8192);
  CHECK(model_json(parse_model(bytes, "x")) == model_json(model));
}

TEST_CASE("model: foreign bytes are refused", "[model]") {
  const std::string bytes = model_bytes(model_of(6, 50));
  CHECK(error_of("proc3 22 0 1 2") == "x.fsmodel: no model (fstrace model makes one of traces)");
  CHECK(error_of("") == "x.fsmodel: no model (fstrace model makes one of traces)");
  CHECK(error_of(bytes.substr(0, bytes.size() - 9)) == "x.fsmodel: damaged model: cut: the end of the file is missing");
  std::string damaged = bytes;
  damaged[damaged.size() / 2] ^= 0x55;
  CHECK(error_of(damaged).starts_with("x.fsmodel: damaged model"));
  CHECK(error_of(bytes.substr(0, 16)) == "x.fsmodel: damaged model: not the expected JSON");
}

TEST_CASE("model: symbols keep their fields", "[model]") {
  Symbol s{.kind = OpKind::rename, .error = 0, .type = 8};
  s.object = {Relation::known, 17};
  s.parent = {Relation::again, 0};
  s.handle = 9;
  s.argument = 0x8042;
  Symbol read;
  REQUIRE(Symbol::from_fields(s.fields(), &read));
  CHECK(read == s);
  auto fields = s.fields();
  fields[3] = 64 * 10;
  CHECK_FALSE(Symbol::from_fields(fields, &read));
}

TEST_CASE("model: a distribution keeps its mean and its longest time", "[model]") {
  const Quantiles q = Quantiles::of_times({1000, 1'000'000});
  CHECK(off(q.between(0.25), 1000) < 0.03);
  CHECK(off(q.between(0.75), 1'000'000) < 0.03);
  std::vector<uint64_t> samples;
  for (uint64_t i = 1; i <= 1000; ++i) samples.push_back(i * 1000);
  samples.back() = 1'000'000'000;
  const Quantiles times = Quantiles::of_times(samples), sizes = Quantiles::of_sizes(samples);
  CHECK(off(times.between(0.5), 500'000) < 0.05);
  CHECK(off(times.between(0.9999), 1'000'000'000) < 0.4);  // one of two samples of the last stratum
  double sum = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) sum += double(times.between((i + 0.5) / kDraws));
  CHECK(off(uint64_t(sum / kDraws), 1'499'500) < 0.05);
  CHECK(sizes.step(0.9999) == 1'000'000'000);
  CHECK(times.values.size() <= kMostStrata);
  CHECK(Quantiles::of_sizes({4096, 4096, 4096}).values.size() == 1);
}

// A shell starts one process after the other, and does nothing itself.
TEST_CASE("model: a process starts when the one before it has ended", "[model]") {
  ModelLearner learner(false);
  Load load(learner);
  for (unsigned i = 0; i < 6; ++i) load.process(i + 1, int64_t(i) * 200'000'000, 20, 99);
  const LoadModel model = learner.finish();
  uint32_t starts = 0, waits = 0;
  for (const Symbol& s : model.symbols) {
    if (!s.is_process_step()) continue;
    starts += s.process_step() == ProcessStep::starts;
    waits += s.process_step() == ProcessStep::waits;
  }
  CHECK(starts == 1);
  CHECK(waits == 1);
  ModelSource source(model, {});
  std::map<ThreadId, std::pair<int64_t, int64_t>> lives;
  for (OpBatch batch; source.next(batch);)
    for (const Op& op : batch.ops) {
      auto [life, first] = lives.try_emplace(op.thread, op.start, op.end());
      life->second.second = op.end();
    }
  CHECK(lives.size() == 6);
  int64_t before = 0;
  for (const auto& [thread, life] : lives) {
    CHECK(life.first >= before);
    before = life.second;
  }
}

// Two threads: one makes files, which takes long, and the other lists their directory meanwhile.
TEST_CASE("model: no directory is listed while its names change", "[model]") {
  ModelLearner learner(false);
  ThreadInfo maker, lister;
  maker.id = 1;
  lister.id = 2;
  const DirEntry entry{.name = "n", .type = S_IFREG};
  for (int i = 0; i < 200; ++i) {
    Op op;
    op.start = i * 100'000;
    op.thread = 1;
    op.who = &maker;
    op.kind = OpKind::mkdir;
    op.parent = kRootObject;
    const std::string name = "d" + std::to_string(i);
    op.name = name;
    op.object = ObjectId(10 + i);
    op.mode = S_IFDIR | 0755;
    op.op_flags = kOpCreated;
    op.duration = 90'000;
    learner.add(op);
    OpKind kinds[] = {OpKind::opendir, OpKind::readdir, OpKind::releasedir};
    for (int k = 0; k < 3; ++k) {
      Op list;
      list.start = i * 100'000 + 20'000 + k * 15'000;
      list.thread = 2;
      list.who = &lister;
      list.kind = kinds[k];
      list.object = kRootObject;
      list.handle = HandleId(i + 1);
      list.duration = 5000;
      if (k == 1) {
        list.entries = {&entry, 1};
        list.result = 1;
      }
      learner.add(list);
    }
  }
  const LoadModel model = learner.finish();
  ModelSource source(model, {});
  std::map<ObjectId, int64_t> changing;
  unsigned listings = 0, early = 0;
  for (OpBatch batch; source.next(batch);)
    for (const Op& op : batch.ops) {
      if (op.kind == OpKind::mkdir) changing[op.parent] = std::max(changing[op.parent], op.end());
      if (op.kind != OpKind::readdir) continue;
      ++listings;
      early += op.start < changing[op.object];
    }
  CHECK(listings > 100);
  CHECK(early == 0);
}

TEST_CASE("model: an urn gives equal processes equal parts", "[model]") {
  const ModelContext context{.phase = 0, .history = {}, .next = {{1, 30}, {2, 3}}, .last = 2};
  Random random(5);
  Urn all(context, 1, random);
  for (int process = 0; process < 3; ++process) {
    Urn own(all, 1.0 / 3);
    for (int i = 0; i < 10; ++i) CHECK(own.draw(random) == 1);
    CHECK(own.draw(random) == 2);  // what leads out of a loop is the last
  }
  Urn whole(context, 1, random);
  std::map<SymbolId, int> drawn;
  for (int i = 0; i < 33; ++i) ++drawn[whole.draw(random)];
  CHECK(drawn == std::map<SymbolId, int>{{1, 30}, {2, 3}});
}

TEST_CASE("model: an urn has no more of a symbol than its filling", "[model]") {
  const ModelContext context{.phase = 0, .history = {}, .next = {{1, 1}, {2, 1}}, .last = 2};
  Random random(5);
  Urn urn(context, 1, random);
  const SymbolId first = urn.draw(random), second = urn.draw(random);
  CHECK(first != second);
  urn.put_back(first);
  CHECK(urn.draw_other(std::vector{second}, random) == first);
  CHECK(!urn.draw_other(std::vector{second}, random));
}

TEST_CASE("model: a step that can't be made leads into no loop", "[model]") {
  constexpr SymbolId kAbsent = 1, kOther = 2, kMade = 3, kUsed = 4, kRarely = 5;
  LoadModel model{.runs = 1, .operations = 1000, .span = 1'000'000'000};
  model.hot = {{.type = kDirectoryType}};
  const Reference name{Relation::name, 0}, root{Relation::root, 0};
  model.symbols = {{.kind = OpKind::lookup, .error = ENOENT, .parent = name},
                   {.kind = OpKind::lookup, .error = ENOENT, .parent = root},
                   {.kind = OpKind::mkdir, .parent = name},
                   {.kind = OpKind::statfs},
                   {.kind = OpKind::getattr, .type = kDirectoryType, .object = root}};
  // A directory is found missing twice, then made. That it is looked for again later leads back to its making.
  model.contexts = {{0, {}, {{kUsed, 1}}, kUsed},
                    {0, {kEndOfProcess}, {{kAbsent, 1}}, kAbsent},
                    {0, {kAbsent}, {{kOther, 1}, {kMade, 1}}, kMade},
                    {0, {kAbsent, kOther}, {{kAbsent, 1}}, kAbsent},
                    {0, {kUsed}, {{kUsed, 950}, {kRarely, 1}}, kUsed},
                    {0, {kRarely}, {{kAbsent, 1}}, kAbsent}};
  model.classes = {{.command = "class 1", .processes = 1, .roots = 1, .operations = 1000, .steps = 1000}};
  model.classes[0].start = Quantiles::of_sizes({0});
  model.classes[0].length = Quantiles::of_sizes({1000});
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Made made = make(model, {.seed = seed});
    CHECK(off(made.counts.operations, 1000) <= 0.02);
    CHECK(made.kinds.at(OpKind::lookup) < 20);
  }
}

TEST_CASE("model: a process that is longer in some runs is one process", "[model]") {
  ModelLearner learner(false);
  for (unsigned files : {19u, 22u}) {
    Load load(learner);
    load.process(1, 0, files);
    learner.end_trace();
  }
  const LoadModel model = learner.finish();
  REQUIRE(model.classes.size() == 1);
  CHECK(model.classes[0].processes == 1);
}

}  // namespace fsr::model_test
