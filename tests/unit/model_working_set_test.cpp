// SPDX-License-Identifier: Apache-2.0
// Tests that a run of a model touches as many files and blocks as its load, and comes back to them.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <set>

#include "catch.hpp"
#include "model/learner.hpp"
#include "model/model_file.hpp"
#include "model/model_source.hpp"
#include "model/model_tree.hpp"

namespace fsr::model_working_set_test {

namespace {

constexpr unsigned kFiles = 40, kPlaces = 100;
constexpr uint64_t kBlock = 4096, kFileSize = 4000 * kBlock;
constexpr ObjectId kData = 1000;

// Processes that list the root and look up all files, and processes that read a file, each at the same places in another order.
class Load {
 public:
  explicit Load(bool survey, ModelLearner& learner) : survey_(survey), learner_(learner) {}

  void walk(ThreadId thread) {
    Op op = begin(OpKind::opendir, thread, "walker");
    op.object = kRootObject;
    op.handle = thread;
    add(op);
    std::vector<DirEntry> entries;
    for (unsigned i = 0; i < kFiles; ++i) entries.push_back({.name = names_[i], .type = S_IFREG});
    op = begin(OpKind::readdir, thread, "walker");
    op.object = kRootObject;
    op.handle = thread;
    op.entries = entries;
    op.result = kFiles;
    add(op);
    for (unsigned i = 0; i < kFiles; ++i) look_up(thread, "walker", names_[i], 2 + i, 100 + i);
    op = begin(OpKind::releasedir, thread, "walker");
    op.object = kRootObject;
    op.handle = thread;
    add(op);
  }

  void read_places(ThreadId thread) {
    look_up(thread, "reader", "data", kData, kFileSize);
    Op op = begin(OpKind::open, thread, "reader");
    op.object = kData;
    op.handle = thread;
    add(op);
    for (unsigned i = 0; i < kPlaces; ++i) {
      op = begin(OpKind::read, thread, "reader");
      op.object = kData;
      op.handle = thread;
      op.offset = (1 + (i * 37 + unsigned(thread) * 11) % kPlaces * 39) * kBlock;
      op.length = op.result = kBlock;
      add(op);
    }
    op = begin(OpKind::release, thread, "reader");
    op.object = kData;
    op.handle = thread;
    add(op);
  }

 private:
  Op begin(OpKind kind, ThreadId thread, const char* command) {
    who_.id = thread;
    who_.pid = who_.tid = int32_t(thread);
    who_.command = command;
    Op op;
    op.kind = kind;
    op.thread = thread;
    op.who = &who_;
    op.start = now_ += 100'000;
    op.duration = 20'000;
    return op;
  }
  void look_up(ThreadId thread, const char* command, std::string_view name, ObjectId object, uint64_t size) {
    const Attr attr{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0600, .size = size};
    Op op = begin(OpKind::lookup, thread, command);
    op.parent = kRootObject;
    op.name = name;
    op.object = object;
    op.attr = &attr;
    add(op);
  }
  void add(const Op& op) { survey_ ? learner_.survey(op) : learner_.add(op); }

  const bool survey_;
  ModelLearner& learner_;
  const std::vector<std::string> names_ = [] {
    std::vector<std::string> names;
    for (unsigned i = 0; i < kFiles; ++i) names.push_back("f" + std::to_string(i));
    return names;
  }();
  ThreadInfo who_;
  int64_t now_ = 0;
};

template <class Run>
LoadModel learn(Run run) {
  ModelLearner learner(true);
  for (bool survey : {true, false}) {
    Load load(survey, learner);
    run(load);
    learner.end_trace();
  }
  return learner.finish();
}

}  // namespace

TEST_CASE("model: a walk of a directory meets each of its files", "[model]") {
  const LoadModel model = learn([](Load& load) {
    for (ThreadId t = 1; t <= 5; ++t) load.walk(t);
  });
  CHECK(model.root_entries == kFiles);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    ModelSource source(model, {.seed = seed});
    std::map<ThreadId, std::set<ObjectId>> met;
    std::set<ObjectId> all;
    for (OpBatch batch; source.next(batch);)
      for (const Op& op : batch.ops)
        if (op.kind == OpKind::lookup && !op.error) {
          met[op.thread].insert(op.object);
          all.insert(op.object);
        }
    CHECK(met.size() == 5);
    CHECK(all.size() == kFiles);
    for (const auto& [thread, files] : met) CHECK(files.size() == kFiles);
  }
}

TEST_CASE("model: a file is read again where it was read before", "[model]") {
  const LoadModel model = parse_model(model_bytes(learn([](Load& load) {
                                        for (ThreadId t = 1; t <= 6; ++t) load.read_places(t);
                                      })),
                                      "m");
  constexpr uint64_t kSeeds = 8;
  size_t places = 0, reads = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    ModelSource source(model, {.seed = seed});
    std::set<std::pair<ObjectId, uint64_t>> read;
    for (OpBatch batch; source.next(batch);)
      for (const Op& op : batch.ops)
        if (op.kind == OpKind::read) {
          ++reads;
          read.emplace(op.object, op.offset);
        }
    places += read.size();
  }
  CHECK(reads >= kSeeds * 590);
  CHECK(places >= kSeeds * 40);
  CHECK(places <= kSeeds * 160);  // of 600 places at random, more than 500 would differ
}

TEST_CASE("model: a file with two names loses the first", "[model]") {
  ModelTree tree;
  const ObjectId file = tree.add(S_IFREG >> 12, kRootObject, tree.new_name(), true);
  const uint64_t first = tree.node(file).name, second = tree.new_name();
  tree.add_link(file, kRootObject, second);
  CHECK(tree.remove_name(file) == std::pair(kRootObject, first));
  CHECK(tree.node(file).linked);
  CHECK(tree.node(file).name == second);
  tree.remove_name(file);
  CHECK(!tree.node(file).linked);
  CHECK(tree.is_empty(kRootObject));
}

}  // namespace fsr::model_working_set_test
