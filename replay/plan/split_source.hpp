// SPDX-License-Identifier: Apache-2.0
// The operations of a rank's own threads. Before the first of them that needs an object which another rank made stands a lookup
// by which this rank learns it (base/learning.hpp). Memory follows the number of objects that others made and this rank never
// used.
#pragma once

#include <string>
#include <unordered_map>

#include "op_source.hpp"
#include "plan/split.hpp"
#include "util/object_set.hpp"

namespace fsr {

struct SplitTimes {
  int64_t from = 0, to = INT64_MAX;  // recorded, of what is replayed
  double scale = 1;                  // times the recorded speed; 0: as fast as each rank can
};

class SplitSource final : public OpSource {
 public:
  // All must outlive it. `known`: objects that this rank's target was taught, which a run may extend meanwhile.
  SplitSource(OpSource& source, const Split& split, unsigned rank, const ObjectSet& known, const SplitTimes& times);
  bool next(OpBatch& batch) override;

  uint64_t learnt() const { return learnt_; }  // objects that were looked up

 private:
  struct Name {
    ObjectId parent = kNoObject;
    std::string name;
    int64_t since = 0;  // recorded
  };

  void add_own(const Op& op, OpBatch& batch);
  void watch(const Op& op);
  bool knows(ObjectId object) const { return known_.contains(object) || passed_.contains(object); }
  void found(ObjectId object, ObjectId parent, std::string_view name, int64_t since);
  void forget(ObjectId object, ObjectId parent, std::string_view name);
  void need(ObjectId object, const Op& op, OpBatch& batch);
  int64_t patience(int64_t since, int64_t now) const;

  OpSource& source_;
  const Split& split_;
  const unsigned rank_;
  const ObjectSet& known_;
  const SplitTimes times_;
  ObjectSet passed_;  // objects that what was passed on teaches
  OpBatch input_;
  std::unordered_map<ObjectId, Name> names_;  // by which others know what this rank does not
  uint64_t learnt_ = 0;
};

}  // namespace fsr
