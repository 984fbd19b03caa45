// SPDX-License-Identifier: Apache-2.0
// Tests that no value by which one file is known is exact in a model, however often the file is used.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "catch.hpp"
#include "model/learner.hpp"
#include "model/model_file.hpp"
#include "model/model_source.hpp"

namespace fsr::model_private_values_test {

namespace {

constexpr Attr kFile{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0644, .size = 1 << 24};

// Learns from traces of one thread, each of them made by `trace` with its number.
template <class Trace>
LoadModel learned(ModelForm form, unsigned traces, Trace trace) {
  ModelLearner learner(false, form);
  const ThreadInfo who{.id = 1, .tid = 1, .pid = 1, .command = "app"};
  for (const bool survey : {true, false})
    for (unsigned i = 0; i < traces; ++i) {
      int64_t now = 0;
      trace(i, [&](Op op) {
        op.start = now += 1237;
        op.duration = 10;
        op.thread = 1;
        op.who = &who;
        survey ? learner.survey(op) : learner.add(op);
      });
      learner.end_trace();
    }
  return learner.finish();
}

template <class Add>
void look_up(const Add& add, ObjectId object, const char* name, uint64_t size = kFile.size) {
  Attr attr = kFile;
  attr.size = size;
  add({.kind = OpKind::lookup, .object = object, .parent = kRootObject, .name = name, .attr = &attr});
}

uint64_t length_of(unsigned record) { return 30'000 + record * record % 97 * 331 + 1; }

}  // namespace

TEST_CASE("model: places of the records of one file are not exact, and stay different", "[model]") {
  constexpr unsigned kRecords = 120;
  std::set<uint64_t> offsets;
  const LoadModel model = learned(ModelForm::courses, 2, [&](unsigned, const auto& add) {
    look_up(add, 20, "records");
    for (int epoch = 0; epoch < 3; ++epoch) {
      add({.kind = OpKind::open, .open_flags = O_RDONLY, .object = 20, .handle = 1});
      for (unsigned i = 0; i < kRecords; ++i) {
        const unsigned record = i * 37 % kRecords;
        uint64_t offset = 1'000'001;
        for (unsigned r = 0; r < record; ++r) offset += length_of(r);
        const uint64_t length = length_of(record);
        offsets.insert(offset);
        add({.kind = OpKind::read, .object = 20, .handle = 1, .offset = offset, .length = length, .result = length});
      }
      add({.kind = OpKind::release, .object = 20, .handle = 1});
    }
  });
  std::set<uint64_t> places;
  unsigned exact = 0;
  for (const Symbol& s : model.symbols)
    if (s.offset) {
      places.insert(s.offset - 1);
      exact += offsets.contains(s.offset - 1);
    }
  CHECK(exact == 0);
  CHECK(places.size() == kRecords);
}

TEST_CASE("model: a size is exact if three names of each run have it", "[model]") {
  constexpr uint64_t kCommon = 70'001, kSingle = 90'001, kSeldom = 110'001;
  for (const ModelForm form : {ModelForm::contexts, ModelForm::courses}) {
    const LoadModel model = learned(form, 3, [&](unsigned trace, const auto& add) {
      const auto write = [&](ObjectId object, const char* name, const char* final, uint64_t size) {
        add({.kind = OpKind::create,
             .op_flags = kOpCreated,
             .mode = S_IFREG | 0644,
             .open_flags = O_WRONLY | O_CREAT,
             .object = object,
             .parent = kRootObject,
             .handle = object,
             .name = name});
        add({.kind = OpKind::write, .object = object, .handle = object, .length = size, .result = size});
        add({.kind = OpKind::release, .object = object, .handle = object});
        add({.kind = OpKind::rename,
             .object = object,
             .parent = kRootObject,
             .parent2 = kRootObject,
             .name = name,
             .name2 = final});
      };
      const char* names[] = {"t1", "t2", "t3"};
      for (ObjectId i = 0; i < 3; ++i) {
        write(20 + i, names[i], names[i], kCommon);
        write(30 + i, names[i], "same", kSingle);
        if (trace) write(40 + i, names[i], names[i], kSeldom);
      }
    });
    const std::string json = model_json(model);
    CHECK(json.find(std::to_string(kCommon)) != std::string::npos);
    CHECK(json.find(std::to_string(kSingle)) == std::string::npos);
    CHECK(json.find(std::to_string(kSeldom)) == std::string::npos);
  }
}

TEST_CASE("model: often used names lose the last digits of their size in both forms", "[model]") {
  for (const ModelForm form : {ModelForm::contexts, ModelForm::courses}) {
    const LoadModel model = learned(form, 2, [](unsigned, const auto& add) {
      for (int i = 0; i < 40; ++i) {
        look_up(add, 20, "x", 1'234'567);
        look_up(add, 21, "y", 7'654'321);
      }
    });
    REQUIRE(model.hot.size() == 2);
    for (const OftenUsedName& name : model.hot) CHECK((name.size == 1'228'800 || name.size == 7'602'176));
  }
}

TEST_CASE("model: a range that a run locks less than three times loses its last digits", "[model]") {
  const LoadModel model = learned(ModelForm::contexts, 3, [](unsigned, const auto& add) {
    look_up(add, 20, "x");
    add({.kind = OpKind::open, .open_flags = O_RDWR, .object = 20, .handle = 1});
    for (uint64_t i = 0; i < 40; ++i)
      add({.kind = OpKind::setlk,
           .mode = F_WRLCK,
           .object = 20,
           .handle = 1,
           .offset = i == 20 ? 770'077'007u : 1'073'741'825u,
           .length = i == 20 ? 123'457u : 511u});
  });
  REQUIRE(model.ranges.size() == 2);
  CHECK(std::find(model.ranges.begin(), model.ranges.end(), std::pair<uint64_t, uint64_t>(1'073'741'825, 511)) !=
        model.ranges.end());
  CHECK(std::find(model.ranges.begin(), model.ranges.end(), std::pair<uint64_t, uint64_t>(763'363'328, 122'880)) !=
        model.ranges.end());
}

TEST_CASE("model: one pause or two alone are not in the file, and its length is in microseconds", "[model]") {
  const LoadModel model = learned(ModelForm::contexts, 1, [](unsigned, const auto& add) {
    for (int i = 0; i < 4; ++i) look_up(add, 20, "x");  // the first one is rare
  });
  CHECK(model.gaps.empty());
  CHECK(model.span == 4000);
}

}  // namespace fsr::model_private_values_test
