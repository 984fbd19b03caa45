// SPDX-License-Identifier: Apache-2.0
// Tests that a model from a stranger can't crash a program, fill the memory, or run on after a signal.
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <map>
#include <stdexcept>

#include "catch.hpp"
#include "model/model_file.hpp"
#include "model/model_source.hpp"
#include "model/urn.hpp"
#include "util/random.hpp"
#include "util/stop_signals.hpp"

namespace fsr::model_bounds_test {

namespace {

constexpr Reference kRoot{Relation::root, 0};

// A model of one process. Each step has a symbol of the list, as often as the context of no history says.
LoadModel model_of(std::vector<Symbol> symbols, std::vector<std::pair<SymbolId, uint32_t>> next, double steps) {
  LoadModel m;
  m.runs = 1;
  m.operations = uint64_t(steps);
  m.span = 1'000'000;
  m.symbols = std::move(symbols);
  m.contexts = {{0, {}, next, next.back().first}};
  m.classes = {
      {.command = "class 1", .processes = 1, .roots = 1, .operations = steps, .steps = steps, .start = {}, .length = {}}};
  m.classes[0].start.values = {0};
  m.classes[0].length.values = {uint64_t(steps)};
  return m;
}

std::string refusal(std::string_view bytes) {
  try {
    parse_model(bytes, "x");
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

inline std::string file_of(std::string_view json) {
  std::string file = model_bytes({}).substr(0, 16);
  std::string packed(ZSTD_compressBound(json.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), json.data(), json.size(), 1));
  return file + packed;
}

// Runs `check` in a process of its own, for at most 20 s. True: it returned true.
template <class Check>
bool holds_apart(Check check) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("model: a context of an unknown class is refused", "[model]") {
  LoadModel model = model_of({{.kind = OpKind::getattr, .object = kRoot}}, {{0, 1}, {1, 9}}, 10);
  CHECK(refusal(model_bytes(model)).empty());
  model.contexts.push_back({16, {}, {{1, 3}}, 1});
  CHECK(refusal(model_bytes(model)) == "x: damaged model: a context is of an unknown class of processes");
}

TEST_CASE("model: directories with more entries than memory should hold are refused", "[model]") {
  const LoadModel model = model_of({{.kind = OpKind::getattr, .object = kRoot}}, {{0, 1}, {1, 9}}, 10);
  LoadModel large = model;
  large.root_entries = 1'000'000;
  CHECK(refusal(model_bytes(large)) == "x: damaged model: a directory has too many entries");
  large = model;
  large.hot = {{.type = kDirectoryType, .existed = true, .size = kMostBytes}};
  CHECK(refusal(model_bytes(large)) == "x: damaged model: a directory has too many entries");
  large.hot.assign(3, {.type = kDirectoryType, .existed = true, .size = kMostPrepared / 3});
  CHECK(refusal(model_bytes(large)) == "");
  large.root_entries = 2;
  CHECK(refusal(model_bytes(large)) == "x: damaged model: directories have too many entries");
}

TEST_CASE("model: steps and operations that disagree are refused", "[model]") {
  LoadModel model = model_of({{.kind = OpKind::getattr, .object = kRoot}}, {{0, 1}, {1, 9}}, 600);
  model.classes[0].steps = 610;
  CHECK(refusal(model_bytes(model)) == "x: damaged model: a run has more steps than its operations and processes need");
  model.classes[0].operations = 610;
  CHECK(refusal(model_bytes(model)) == "x: damaged model: the classes have another number of operations than the load");
}

TEST_CASE("model: an entry of a listing can be removed as a directory", "[model]") {
  LoadModel model =
      model_of({{.kind = OpKind::opendir, .type = kDirectoryType, .object = kRoot},
                {.kind = OpKind::readdir, .type = kDirectoryType, .handle = 1, .extent = Extent::complete, .size = 3},
                {.kind = OpKind::rmdir, .type = kDirectoryType, .object = {Relation::entry, 0}}},
               {{0, 1}, {1, 3}, {2, 3}, {3, 9}}, 20);
  model.sizes[{uint32_t(OpKind::readdir), 3}].values = {5};
  CHECK(holds_apart([&] {
    uint64_t removed = 0;
    ModelSource source(model, {});
    for (OpBatch batch; source.next(batch);)
      for (const Op& op : batch.ops) removed += op.kind == OpKind::rmdir;
    return removed > 0;
  }));
}

TEST_CASE("model: deep or long JSON is refused", "[model]") {
  CHECK(refusal(file_of(std::string(20'000, '['))) == "x: damaged model: nested too deeply");
  std::string flat = "[0";
  while (flat.size() < (size_t(17) << 20)) flat += ",0";
  CHECK(refusal(file_of(flat + "]")) == "x: damaged model: too large for a model");
}

TEST_CASE("model: a batch of long listings takes little memory", "[model]") {
  LoadModel model = model_of({{.kind = OpKind::opendir, .type = kDirectoryType, .object = kRoot},
                              {.kind = OpKind::readdir, .type = kDirectoryType, .handle = 1, .extent = Extent::complete}},
                             {{1, 1}, {2, 60}}, 60);
  model.root_entries = 50'000;
  ModelSource source(model, {});
  size_t most = 0, listings = 0;
  for (OpBatch batch; source.next(batch);) {
    most = std::max(most, batch.arena.memory());
    for (const Op& op : batch.ops) listings += op.kind == OpKind::readdir;
  }
  CHECK(listings > 40);
  CHECK(most < size_t(32) << 20);
}

TEST_CASE("model: directories that a run lists first have few entries together", "[model]") {
  constexpr uint64_t kSteps = 60;
  LoadModel model =
      model_of({{.kind = OpKind::opendir, .type = kDirectoryType, .object = {Relation::fresh, 0}},
                {.kind = OpKind::readdir, .type = kDirectoryType, .handle = 1, .extent = Extent::complete, .size = 3}},
               {{1, kSteps / 2}, {2, kSteps / 2}}, double(kSteps));
  model.sizes[{uint32_t(OpKind::readdir), 3}].values = {kMostEntries};
  ModelSource source(model, {});
  std::map<ObjectId, uint64_t> entries;
  for (OpBatch batch; source.next(batch);)
    for (const Op& op : batch.ops)
      if (op.kind == OpKind::readdir) entries[op.object] = op.entries.size();
  uint64_t all = 0;
  for (const auto& [directory, n] : entries) all += n;
  CHECK(entries.size() > 3);
  CHECK(all <= kMostPrepared + 4 * kSteps);
}

TEST_CASE("model: memory of a batch does not grow with its uses", "[model]") {
  OpBatch batch;
  for (int use = 0; use < 100; ++use) {
    batch.clear();
    batch.arena.make<DirEntry>(100'000);
    for (int i = 0; i < 100'000; ++i) batch.arena.copy("n123456");
  }
  CHECK(batch.arena.memory() < size_t(32) << 20);
}

TEST_CASE("model: memory of batches of large and small pieces is a small multiple of the largest batch", "[model]") {
  OpBatch batch;
  Random random(1);
  size_t most = 0;
  for (int use = 0; use < 400; ++use) {
    batch.clear();
    size_t needed = 0;
    for (int i = 0; i < 256; ++i) {
      const size_t bytes = random.below(10) == 0 ? size_t(1) << 20 : 1 + random.below(4096);
      batch.arena.make<char>(bytes);
      needed += bytes;
    }
    most = std::max(most, needed);
  }
  CHECK(batch.arena.memory() < 2 * most);
}

TEST_CASE("model: a signal ends the making of operations", "[model]") {
  const LoadModel operations = model_of({{.kind = OpKind::getattr, .type = kDirectoryType, .object = kRoot}}, {{1, 9}}, 1e12);
  // Steps that wait for no process are no operations.
  const LoadModel waits = model_of({{.kind = OpKind::null, .handle = uint8_t(ProcessStep::waits)}}, {{1, 9}}, 1e12);
  for (const LoadModel* model : {&operations, &waits})
    CHECK(holds_apart([&] {
      count_stop_signals();
      raise(SIGTERM);
      try {
        ModelSource source(*model, {});
        for (OpBatch batch; source.next(batch);) {
        }
      } catch (const std::runtime_error& e) {
        return e.what() == std::string_view("interrupted while operations were made up");
      }
      return false;
    }));
}

TEST_CASE("model: fractions of a process have a lower limit", "[model]") {
  LoadModel model = model_of({{.kind = OpKind::getattr, .object = kRoot}}, {{0, 1}, {1, 9}}, 10);
  model.classes[0].processes = model.classes[0].roots = 1e-300;
  CHECK(refusal(model_bytes(model)) == "x: damaged model: a number of processes is out of range");
  CHECK(holds_apart([] {
    const ModelContext context{.phase = 0, .history = {}, .next = {{1, UINT32_MAX}, {2, UINT32_MAX}}, .last = 2};
    Random random(5);
    Urn all(context, 1, random), own(all, 1e300);
    return own.draw(random) != kEndOfProcess;
  }));
}

TEST_CASE("model: times stay in order when pauses are as long as can be", "[model]") {
  LoadModel model = model_of({{.kind = OpKind::getattr, .type = kDirectoryType, .object = kRoot}}, {{0, 1}, {1, 99}}, 100);
  const Quantiles longest{{time_of_code(kMostTimeCode)}};
  model.gaps[{0, kAnyKind, kAnyKind}] = {longest, 0};
  model.durations[{uint32_t(OpKind::getattr), 0}] = longest;
  ModelSource source(model, {});
  int64_t last = 0;
  uint64_t made = 0;
  bool in_order = true;
  for (OpBatch batch; source.next(batch);)
    for (const Op& op : batch.ops) {
      in_order &= op.start >= last && op.duration >= 0 && op.duration <= INT64_MAX - op.start;
      last = op.start;
      ++made;
    }
  CHECK(made > 90);
  CHECK(in_order);
}

}  // namespace fsr::model_bounds_test
