// SPDX-License-Identifier: Apache-2.0
// Tests of pauses that threads make together, and of names that a part of a load takes for granted.
#include <numeric>

#include "catch.hpp"
#include "model/model_source.hpp"
#include "model/stalls.hpp"

namespace fsr::model_stalls_test {

namespace {

constexpr int64_t kStep = 20'000, kPause = 5'000'000;  // ns

// A thread that makes ten steps, pauses, and makes ten others.
LearnedThread thread_of(int64_t begin, int64_t pause) {
  LearnedThread t;
  for (int i = 0; i < 20; ++i) t.steps.push_back({begin + i * kStep + (i < 10 ? 0 : pause), 1, time_code(1000)});
  return t;
}

}  // namespace

TEST_CASE("model: a pause of several threads at once is a stall", "[model]") {
  std::vector<LearnedThread> threads{thread_of(0, kPause), thread_of(7'000, kPause)};
  const std::vector<Stall> stalls = find_stalls(threads, 0);
  REQUIRE(stalls.size() == 1);
  CHECK(stalls[0].length() > kPause - kStep);
  cut_stalls(threads, 0, stalls);
  CHECK(threads[0].end() < 21 * kStep);
  CHECK(threads[1].steps[10].start > threads[0].steps[10].start);
}

TEST_CASE("model: a pause of one thread is none, and neither is one within a longer pause", "[model]") {
  for (int64_t other : {int64_t(0), 20 * kPause}) {
    std::vector<LearnedThread> threads{thread_of(0, kPause), thread_of(other ? 0 : kPause / 2, other)};
    CHECK(find_stalls(threads, 0).empty());
  }
}

TEST_CASE("model: stalls of a file are shorter than its run", "[model]") {
  LoadModel m;
  m.runs = 2;
  m.span = 1000;
  m.stalls = {{}, 6};
  m.stalls.times.values = {uint64_t(1) << 61};
  const std::vector<int64_t> lengths = stalls_of(m);
  CHECK(lengths.size() == 3);
  CHECK(std::accumulate(lengths.begin(), lengths.end(), int64_t(0)) < 1000);
}

TEST_CASE("model: a name whose creation a part lacks exists from the start", "[model]") {
  LoadModel m;
  m.runs = 1;
  m.operations = 100;
  m.span = 1'000'000'000;
  m.symbols = {{.kind = OpKind::lookup, .type = kDirectoryType, .object = {Relation::hot, 0}}};
  m.hot = {{.parent = 0, .type = kDirectoryType, .existed = false, .size = 0}};
  m.contexts = {{0, {}, {{0, 1}, {1, 99}}, 0}};
  m.classes = {{.command = "class 1", .processes = 1, .roots = 1, .operations = 100, .steps = 100, .start = {}, .length = {}}};
  m.classes[0].start.values = {0};
  m.classes[0].length.values = {100};
  ModelSource source(m, {});
  for (OpBatch batch; source.next(batch);) {
  }
  CHECK(source.counts().operations >= 98);
  CHECK(source.counts().left_out == 0);
}

}  // namespace fsr::model_stalls_test
