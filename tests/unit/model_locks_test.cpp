// SPDX-License-Identifier: Apache-2.0
// Tests that a run of a model has the locks of its load: they belong to processes or to open instances, which processes inherit.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "model/learner.hpp"
#include "model/model_source.hpp"
#include "op_list.hpp"
#include "plan/linearizer.hpp"
#include "plan/lock_states.hpp"

namespace fsr::model_locks_test {

namespace {

constexpr ObjectId kFile = 100;
constexpr unsigned kChildren = 3, kRounds = 40;

// Operations of processes and their children on one file, or on one of each parent.
class Load {
 public:
  int64_t duration = 10'000;  // ns, of the next operations
  unsigned parents = 1;       // processes up to this number are parents; the others are their children, in turn

  Load(ModelLearner& learner, bool survey) : learner_(learner), survey_(survey) {}

  void act(unsigned process, Op op) {
    const ThreadInfo who{.id = process,
                         .tid = int32_t(process),
                         .pid = int32_t(process),
                         .ppid = process <= parents ? 0 : int32_t((process - 1) % parents + 1),
                         .command = process <= parents ? "parent" : "child"};
    op.thread = who.id;
    op.who = &who;
    op.object = kFile + (process - 1) % parents;
    op.start = now_;
    op.duration = duration;
    now_ += duration + 10'000;
    survey_ ? learner_.survey(op) : learner_.add(op);
  }
  void make(unsigned process, HandleId handle) {
    const Attr attr{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0644, .size = 4096};
    const std::string name = "file" + std::to_string(process);
    const Op made{.kind = OpKind::create,
                  .op_flags = kOpCreated,
                  .mode = S_IFREG | 0644,
                  .open_flags = O_RDWR | O_CREAT,
                  .parent = kRootObject,
                  .handle = handle,
                  .name = name,
                  .attr = &attr};
    act(process, made);
  }
  void open(unsigned process, HandleId handle) { act(process, {.kind = OpKind::open, .open_flags = O_RDWR, .handle = handle}); }
  void flush(unsigned process, HandleId handle) { act(process, {.kind = OpKind::flush, .handle = handle, .owner = process}); }
  void release(unsigned process, HandleId handle) { act(process, {.kind = OpKind::release, .handle = handle}); }

 private:
  ModelLearner& learner_;
  const bool survey_;
  int64_t now_ = 0;
};

template <class Run>
LoadModel learned(ModelForm form, Run run) {
  ModelLearner learner(false, form);
  for (const bool survey : {true, false})
    for (int trace = 0; trace < 4; ++trace) {
      Load load(learner, survey);
      run(load);
      learner.end_trace();
    }
  return learner.finish();
}

// Returns the model with one context for each class, which knows nothing of the order of its steps.
LoadModel without_order(LoadModel model) {
  std::map<uint32_t, std::map<SymbolId, uint32_t>> counts;  // by phase
  for (const ModelContext& c : model.contexts)
    for (const auto& [symbol, n] : c.next) counts[c.phase][symbol] += n;
  model.contexts.clear();
  for (const auto& [phase, next] : counts)
    model.contexts.push_back({.phase = phase, .next = {next.begin(), next.end()}, .last = next.begin()->first});
  return model;
}

struct Made {
  std::deque<OpBatch> batches;
  std::vector<Op> ops;
  ModelCounts counts;
};

Made made_of(const LoadModel& model, uint64_t seed = 1) {
  Made made;
  ModelSource source(model, {.seed = seed});
  while (source.next(made.batches.emplace_back()))
    for (Op& op : made.batches.back().ops) {
      op.seq = made.ops.size();
      made.ops.push_back(op);
    }
  made.counts = source.counts();
  return made;
}

// Returns how many requests for locks have an outcome that the locks at that time do not give.
size_t wrong_locks(const Made& made) {
  OpList source(made.ops);
  Linearizer order(source, 0, INT64_MAX);
  LockStates states;
  size_t wrong = 0;
  while (const Op* op = order.next()) {
    const LockUse use = states.use(*op);
    wrong += !states.fits(use);
    states.pass(use);
  }
  return wrong;
}

// True: each open instance is released after all operations that use it.
bool released_last(const Made& made) {
  std::map<HandleId, int64_t> used;
  for (const Op& op : made.ops) {
    if (op.kind == OpKind::release && used[op.handle] > op.start) return false;
    used[op.handle] = std::max(used[op.handle], op.end());
  }
  return true;
}

// True: no flock is requested while another process's unlock is in flight, whose outcome it depends on.
bool unlocked_first(const Made& made) {
  std::vector<const Op*> unlocks;
  for (const Op& op : made.ops) {
    if (op.kind != OpKind::flock) continue;
    if (op.mode == LOCK_UN)
      unlocks.push_back(&op);
    else if (std::any_of(unlocks.begin(), unlocks.end(),
                         [&](const Op* other) { return other->owner != op.owner && other->end() > op.start; }))
      return false;
  }
  return true;
}

size_t count(const Made& made, OpKind kind, int error) {
  return size_t(
      std::count_if(made.ops.begin(), made.ops.end(), [&](const Op& op) { return op.kind == kind && op.error == error; }));
}

}  // namespace

TEST_CASE("model: processes share the flock of an open instance that they inherit", "[model]") {
  const auto load = [](Load& l) {
    l.make(1, 1);
    for (unsigned round = 0; round < kRounds; ++round)
      for (unsigned mode : {LOCK_EX, LOCK_SH, LOCK_UN})
        for (unsigned process = 1; process <= 1 + kChildren; ++process)
          l.act(process, {.kind = OpKind::flock, .op_flags = kOpWait, .mode = mode, .handle = 1, .owner = process});
    for (unsigned process = 1; process <= 1 + kChildren; ++process) l.flush(process, 1);
    l.release(1 + kChildren, 1);
  };
  for (ModelForm form : {ModelForm::contexts, ModelForm::courses}) {
    const LoadModel model = learned(form, load);
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const Made made = made_of(model, seed);
      CHECK(made.counts.left_out <= (form == ModelForm::courses ? 0 : made.ops.size() / 50));
      CHECK(wrong_locks(made) == 0);
      CHECK(released_last(made));
      std::set<HandleId> instances;
      for (const Op& op : made.ops) instances.insert(op.handle);
      CHECK(instances.size() <= (form == ModelForm::courses ? 1 : 2));
    }
  }
}

TEST_CASE("model: a byte range belongs to the process or to the open instance, as in the load", "[model]") {
  for (const bool of_instance : {true, false}) {
    const LoadModel model = learned(ModelForm::courses, [&](Load& l) {
      l.make(1, 1);
      for (unsigned process = 1; process <= 1 + kChildren; ++process)
        if (process > 1) l.open(process, process);
      for (unsigned round = 0; round < kRounds; ++round)
        for (unsigned mode : {F_WRLCK, F_UNLCK})
          for (unsigned process = 1; process <= 1 + kChildren; ++process) {
            // All at once: of one instance the same bytes, of processes bytes of their own, and a part of them is unlocked first.
            const HandleId handle = of_instance ? 1 : process;
            const uint64_t offset = of_instance ? 0 : process * 100;
            const uint64_t owner = of_instance ? 77 : process;
            if (mode == F_UNLCK)
              l.act(process,
                    {.kind = OpKind::setlk, .mode = mode, .handle = handle, .offset = offset, .length = 5, .owner = owner});
            l.act(process,
                  {.kind = OpKind::setlk, .mode = mode, .handle = handle, .offset = offset, .length = 10, .owner = owner});
          }
      for (unsigned process = 1; process <= 1 + kChildren; ++process) {
        l.flush(process, process);
        l.release(process, process);
      }
    });
    const Made made = made_of(model);
    CHECK(made.counts.left_out == 0);
    CHECK(wrong_locks(made) == 0);
    std::set<uint64_t> owners;
    for (const Op& op : made.ops)
      if (op.kind == OpKind::setlk) owners.insert(op.owner);
    CHECK(owners.size() == (of_instance ? 1 : 1 + kChildren));
  }
}

TEST_CASE("model: a lock is refused where another owner holds it", "[model]") {
  for (ModelForm form : {ModelForm::contexts, ModelForm::courses})
    for (OpKind kind : {OpKind::flock, OpKind::setlk}) {
      const bool flock = kind == OpKind::flock;
      const LoadModel model = learned(form, [&](Load& l) {
        l.make(1, 1);
        l.open(2, 2);
        const auto lock = [&](unsigned process, uint32_t mode, int error) {
          l.act(process, {.kind = kind, .error = error, .mode = mode, .handle = process, .length = 10, .owner = process});
        };
        for (unsigned round = 0; round < kRounds; ++round) {
          lock(1, flock ? LOCK_EX : F_WRLCK, 0);
          lock(2, flock ? LOCK_SH : F_RDLCK, EAGAIN);
          lock(1, flock ? LOCK_UN : F_UNLCK, 0);
          lock(2, flock ? LOCK_SH : F_RDLCK, 0);
          lock(2, flock ? LOCK_UN : F_UNLCK, 0);
        }
        for (unsigned process : {1, 2}) {
          l.flush(process, process);
          l.release(process, process);
        }
      });
      const Made made = made_of(model);
      CHECK(wrong_locks(made) == 0);
      CHECK(count(made, kind, EAGAIN) > kRounds / 4);
      CHECK(made.counts.left_out < made.ops.size() / 10);
    }
}

TEST_CASE("model: many processes wait for one lock", "[model]") {
  constexpr unsigned kProcesses = 7;
  for (ModelForm form : {ModelForm::contexts, ModelForm::courses}) {
    const LoadModel model = learned(form, [&](Load& l) {
      l.make(1, 1);
      for (unsigned process = 2; process <= kProcesses; ++process) l.open(process, process);
      for (unsigned round = 0; round < kRounds; ++round)
        for (unsigned process = 1; process <= kProcesses; ++process)
          for (const unsigned mode : {LOCK_EX, LOCK_UN}) {
            l.duration = 5'000 + (round * 31 + process * 17 + mode) % 40 * 5'000;
            l.act(process, {.kind = OpKind::flock, .op_flags = kOpWait, .mode = mode, .handle = process, .owner = process});
          }
      for (unsigned process = 1; process <= kProcesses; ++process) {
        l.flush(process, process);
        l.release(process, process);
      }
    });
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const Made made = made_of(model, seed);
      CHECK(made.counts.left_out <= (form == ModelForm::courses ? 0 : made.ops.size() / 50));
      CHECK(wrong_locks(made) == 0);
      CHECK(unlocked_first(made));
    }
  }
}

TEST_CASE("model: a child goes on with a file that its parent opens late and closes early", "[model]") {
  constexpr unsigned kParents = 3;
  const LoadModel model = without_order(learned(ModelForm::contexts, [](Load& l) {
    l.parents = kParents;
    const auto ask = [&](unsigned process, HandleId handle) {
      l.act(process, {.kind = OpKind::getlk, .mode = F_WRLCK, .handle = handle, .length = 10, .owner = 77 + handle});
    };
    for (unsigned parent = 1; parent <= kParents; ++parent) l.make(parent, parent);
    for (unsigned round = 0; round < 5 * kRounds; ++round)
      for (unsigned parent = 1; parent <= kParents; ++parent) {
        ask(kParents + parent, parent);
        if (round < kRounds) ask(parent, parent);
      }
    for (unsigned parent = 1; parent <= kParents; ++parent) {
      l.flush(kParents + parent, parent);
      l.flush(parent, parent);
      l.release(parent, parent);
    }
  }));
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Made made = made_of(model, seed);
    CHECK(made.counts.left_out <= made.ops.size() / 50);
    CHECK(made.ops.size() >= made.counts.wanted * 98 / 100);
    CHECK(released_last(made));
  }
}

TEST_CASE("model: locks of byte ranges end with their process", "[model]") {
  const LoadModel model = without_order(learned(ModelForm::contexts, [](Load& l) {
    l.make(1, 1);
    for (unsigned round = 0; round < 10 * kRounds; ++round)
      for (unsigned child = 2; child <= 1 + kChildren; ++child) {
        const auto lock = [&](unsigned mode) {
          l.act(child, {.kind = OpKind::setlk, .mode = mode, .handle = 1, .offset = child * 100, .length = 10, .owner = child});
        };
        lock(F_WRLCK);
        if (round % 3) lock(F_UNLCK);
      }
    for (unsigned child = 2; child <= 1 + kChildren; ++child) l.flush(child, 1);
    l.flush(1, 1);
    l.release(1, 1);
  }));
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Made made = made_of(model, seed);
    std::set<uint64_t> owners;  // of locks that are never given up
    for (const Op& op : made.ops) {
      if (op.kind == OpKind::setlk && op.mode == F_WRLCK && !op.error) owners.insert(op.owner);
      if (op.kind == OpKind::flush) owners.erase(op.owner);
      if (op.kind == OpKind::release) owners.erase(op.thread << 1);  // of a file of its own
    }
    CHECK(owners.empty());
    CHECK(count(made, OpKind::flush, 0) > 0);
  }
}

}  // namespace fsr::model_locks_test
