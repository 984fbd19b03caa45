// SPDX-License-Identifier: Apache-2.0
// Tests what a model keeps of the traces that it learns from: no value that was rare, and what every reader takes.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <stdexcept>

#include "catch.hpp"
#include "inputs/model/model_section.hpp"
#include "model/context_tree.hpp"
#include "model/learner.hpp"
#include "model/model_file.hpp"
#include "model/model_source.hpp"
#include "trace/live_state.hpp"
#include "util/random.hpp"

namespace fsr::model_learning_test {

namespace {

constexpr ObjectId kFile = 100;
constexpr Attr kFileAttr{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0644, .size = 1 << 20};

// Learns from operations of one thread, each 0.1 ms after the one before.
class Learning {
 public:
  explicit Learning(bool keep_commands = false) : learner_(keep_commands) { who_.id = 1; }
  void command(std::string_view command) { who_.command = command; }
  void add(Op op) {
    op.thread = who_.id;
    op.who = &who_;
    op.start = now_;
    op.duration = 10'000;
    now_ += 100'000;
    learner_.add(op);
  }
  void wait(int64_t ns) { now_ += ns; }
  void open(HandleId handle = 1, ObjectId object = kFile) {
    add({.kind = OpKind::open, .open_flags = O_RDWR, .object = object, .handle = handle, .attr = &kFileAttr});
  }
  void close(HandleId handle = 1, ObjectId object = kFile) { add({.kind = OpKind::release, .object = object, .handle = handle}); }
  void transfer(OpKind kind, uint64_t offset, uint64_t length, ObjectId object = kFile) {
    add({.kind = kind, .object = object, .handle = 1, .offset = offset, .length = length, .result = length});
  }
  void truncate(uint64_t size) {
    const Attr set{.valid = kAttrSize, .size = size};
    add({.kind = OpKind::setattr, .object = kFile, .handle = 1, .set = &set});
  }
  void end_trace() { learner_.end_trace(); }
  LoadModel finish() { return learner_.finish(); }

 private:
  ModelLearner learner_;
  ThreadInfo who_;
  int64_t now_ = 0;
};

std::string why_not(Learning& load) {
  try {
    load.finish();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

inline ModelCounts made(const LoadModel& model, std::vector<uint64_t>* kinds = nullptr) {
  ModelSource source(model, {});
  for (OpBatch batch; source.next(batch);)
    for (const Op& op : batch.ops)
      if (kinds) ++(*kinds)[size_t(op.kind)];
  return source.counts();
}

// Returns how much more memory `work` takes at most, in bytes.
template <class Work>
size_t memory_of(Work work) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    work();
    getrusage(RUSAGE_SELF, &after);
    const size_t more = size_t(after.ru_maxrss - before.ru_maxrss) * 1024;
    _exit(write(ends[1], &more, sizeof more) == sizeof more ? 0 : 1);
  }
  size_t more = SIZE_MAX;
  waitpid(child, nullptr, 0);
  if (read(ends[0], &more, sizeof more) != sizeof more) more = SIZE_MAX;
  close(ends[0]);
  close(ends[1]);
  return more;
}

}  // namespace

TEST_CASE("model: what was learned can be read, however large the sizes are", "[model]") {
  Learning load(true);
  const std::string command(100, 'c');
  load.command(command);
  for (int i = 0; i < 20; ++i) {
    load.open(1);
    load.open(2, kFile + 1);
    load.add({.kind = OpKind::copy_file_range,
              .object = kFile,
              .object2 = kFile + 1,
              .handle = 1,
              .handle2 = 2,
              .length = 9'223'372'035'781'033'984u,
              .result = 5000});
    load.truncate(uint64_t(100) << 40);
    load.add({.kind = OpKind::setlk, .mode = F_WRLCK, .object = kFile, .handle = 1, .length = UINT64_MAX});
    load.close(2, kFile + 1);
    load.close(1);
  }
  const LoadModel model = load.finish();
  CHECK(model_json(parse_model(model_bytes(model), "m")) == model_json(model));
}

TEST_CASE("model: a load that no file can hold is refused when it is learned", "[model]") {
  Learning load;
  for (int i = 0; i < 20; ++i) {
    load.open();
    load.close();
    load.wait(int64_t(40) * 86400 * 1'000'000'000);
  }
  CHECK(why_not(load) == "no model can have this load: the length of the load is out of range");
}

TEST_CASE("model: equal times have one value", "[model]") {
  for (size_t n = 1; n <= 2000; ++n) {
    const Quantiles q = Quantiles::of_times(std::vector<uint64_t>(n, 46));
    REQUIRE(std::is_sorted(q.values.begin(), q.values.end()));
    REQUIRE(q.values.front() == q.values.back());
  }
}

TEST_CASE("model: files that are opened less than three times are open from the start", "[model]") {
  Learning load;
  load.open();
  for (uint64_t i = 0; i < 600; ++i) {
    load.transfer(OpKind::read, i * 7 % 128 * 4096, 4096);
    load.transfer(OpKind::write, i * 11 % 128 * 4096, 4096);
    load.add({.kind = OpKind::fsync, .object = kFile, .handle = 1});
  }
  load.close();
  const LoadModel model = load.finish();
  std::vector<uint64_t> kinds(kOpKinds);
  CHECK(made(model, &kinds).left_out < 20);
  for (OpKind kind : {OpKind::read, OpKind::write, OpKind::fsync}) CHECK(std::abs(double(kinds[size_t(kind)]) - 600) < 20);
  ModelSource source(model, {});
  for (OpBatch batch; source.next(batch);) {
  }
  size_t open = 0;
  source.before().each_open([&](const LiveOpen&) { ++open; });
  CHECK(open == 1);
}

TEST_CASE("model: a process that opens its files at its begin opens them", "[model]") {
  Learning load;
  Random random(3);
  for (HandleId handle = 1; handle <= 3; ++handle) load.open(handle, kFile + handle);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t length = uint64_t(512) << random.below(12);
    const HandleId handle = 1 + random.below(3);
    load.add({.kind = random.below(2) ? OpKind::read : OpKind::write,
              .object = kFile + handle,
              .handle = handle,
              .offset = random.below(4096) * 4096,
              .length = length,
              .result = length});
  }
  const LoadModel model = load.finish();
  const ModelCounts counts = made(model);
  CHECK(std::abs(double(counts.operations) - 20'000) < 400);
  CHECK(counts.left_out_share() < 0.02);
}

TEST_CASE("model: files of unknown sizes can be read beyond what was written", "[model]") {
  Learning load;
  load.add({.kind = OpKind::open, .open_flags = O_RDWR, .object = kFile, .handle = 1});
  for (uint64_t i = 0; i < 800; ++i) load.transfer(i % 2 ? OpKind::read : OpKind::write, i * 4096, 4096);
  std::vector<uint64_t> kinds(kOpKinds);
  CHECK(made(load.finish(), &kinds).left_out_share() < 0.02);
  CHECK(std::abs(double(kinds[size_t(OpKind::read)]) - 400) < 10);
}

TEST_CASE("model: sizes and ranges that occurred less than three times are not kept", "[model]") {
  Learning load;
  for (int i = 0; i < 300; ++i) {
    load.open();
    load.transfer(OpKind::read, 0, 4096);
    if (i == 77)
      load.add({.kind = OpKind::setlk, .mode = F_WRLCK, .object = kFile, .handle = 1, .offset = 770'077'007, .length = 123'457});
    if (i == 88) load.transfer(OpKind::write, 0, 987'654);
    if (i == 99) load.truncate(55'667'788);
    load.close();
    const Attr attr{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0644, .size = i == 200 ? 987'654'321u : 4097u};
    const std::string name = "q" + std::to_string(i);
    load.add({.kind = OpKind::lookup, .object = ObjectId(1000 + i), .parent = kRootObject, .name = name, .attr = &attr});
  }
  load.end_trace();
  const LoadModel model = load.finish();
  const std::string json = model_json(model);
  for (const char* value : {"770077007", "123457", "987654", "55667788", "987654321"})
    CHECK(json.find(value) == std::string::npos);
  CHECK(json.find("4097") != std::string::npos);
  CHECK(model.ranges.empty());
}

TEST_CASE("model: a size that each of several captures has once is not kept", "[model]") {
  Learning load;
  for (int capture = 0; capture < 4; ++capture, load.end_trace())
    for (int i = 0; i < 100; ++i) {
      const Attr attr{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0644, .size = i == 50 ? 987'654'321u : 4097u};
      const std::string name = "q" + std::to_string(i);
      load.add({.kind = OpKind::lookup, .object = ObjectId(1000 + i), .parent = kRootObject, .name = name, .attr = &attr});
    }
  const std::string json = model_json(load.finish());
  CHECK(json.find("987654321") == std::string::npos);
  CHECK(json.find("4097") != std::string::npos);
}

TEST_CASE("model: ranges of locks that stay keep their places", "[model]") {
  Learning load;
  for (int i = 0; i < 60; ++i) {
    load.open();
    load.add({.kind = OpKind::setlk,
              .mode = F_WRLCK,
              .object = kFile,
              .handle = 1,
              .offset = i == 1  ? 5u
                        : i % 2 ? 1000u
                                : 2000u,
              .length = 10});
    load.close();
  }
  const LoadModel model = load.finish();
  CHECK(model.ranges == std::vector<std::pair<uint64_t, uint64_t>>{{2000, 10}, {1000, 10}});
  std::vector<uint64_t> offsets;
  ModelSource source(model, {});
  for (OpBatch batch; source.next(batch);)
    for (const Op& op : batch.ops)
      if (op.kind == OpKind::setlk) offsets.push_back(op.offset);
  CHECK(std::count(offsets.begin(), offsets.end(), 1000) > 20);
  CHECK(std::count(offsets.begin(), offsets.end(), 2000) > 20);
  CHECK(std::count(offsets.begin(), offsets.end(), 5) == 0);
}

TEST_CASE("model: contexts of a load without a pattern take little memory", "[model]") {
  constexpr size_t kSteps = 200'000;
  Random random(1);
  std::vector<std::vector<SymbolId>> sequences(1);
  for (size_t i = 0; i < kSteps; ++i) sequences[0].push_back(SymbolId(1 + random.below(8)));
#ifdef __clang__
  constexpr size_t kEach = 240;  // bytes; AddressSanitizer, with which clang builds the tests, keeps what was freed
#else
  constexpr size_t kEach = 60;
#endif
  CHECK(memory_of([&] { grow_tree(sequences, 1); }) < kSteps * kEach);
}

TEST_CASE("model: steps that can't be made are told by kind and error", "[model]") {
  Learning load;
  for (int i = 0; i < 400; ++i) {
    load.add({.kind = OpKind::lookup, .error = EACCES, .parent = kRootObject, .name = "s"});
    if (i % 2) continue;
    load.open();
    load.transfer(OpKind::read, 0, 4096);
    load.close();
  }
  const ModelCounts counts = made(load.finish());
  REQUIRE(counts.left_out > 100);
  CHECK(counts.left_out_symbols.at({OpKind::lookup, EACCES}) > 100);
  CHECK(left_out_text(counts).starts_with("lookup EACCES "));
  ModelSection section;
  section.counts = counts;
  CHECK(section.reasons().size() == 1);
  section.counts.left_out = section.counts.operations / 100;
  CHECK(section.reasons().empty());
}

}  // namespace fsr::model_learning_test
