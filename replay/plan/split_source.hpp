// SPDX-License-Identifier: Apache-2.0
// Source of the operations of a rank's own threads. If an operation needs an object that another rank made or renamed, a lookup
// precedes it, by which this rank learns the object (base/added_lookup.hpp). If another rank removes a name of an object, an
// operation follows that makes this rank forget the name. Memory depends on the number of objects that others made or renamed and
// this rank has not used since.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "op_source.hpp"
#include "plan/trace_split.hpp"
#include "util/object_set.hpp"

namespace fsr {

struct SplitTimes {
  int64_t from = 0, to = INT64_MAX;  // recorded times; operations that start outside are left out
  double scale = 1;                  // speed relative to the recorded one; 0: each rank goes as fast as it can
};

class SplitSource final : public OpSource {
 public:
  // All arguments must outlive it. `known`: objects that this rank's target knows; a run may add to it meanwhile. `others`:
  // called for each operation of another rank; may be empty.
  SplitSource(OpSource& source, const TraceSplit& split, unsigned rank, const ObjectSet& known, const SplitTimes& times,
              std::function<void(const Op&)> others = {});
  bool next(OpBatch& batch) override;

  uint64_t learnt() const { return learnt_; }  // number of objects that were looked up

 private:
  struct NameInDirectory {
    ObjectId parent = kNoObject;
    std::string_view name;
  };
  struct Name {
    ObjectId parent = kNoObject;
    std::string name;
    int64_t since = 0;  // recorded time
    bool is(const NameInDirectory& place) const { return parent == place.parent && name == place.name; }
  };

  void add_own(const Op& op, OpBatch& batch);
  void watch(const Op& op, OpBatch& batch);
  bool knows(ObjectId object) const { return known_.contains(object) || passed_.contains(object); }
  void found(ObjectId object, const NameInDirectory& place, const Op& op);
  void moved(ObjectId object, const NameInDirectory& from, const NameInDirectory& to, const Op& op, OpBatch& batch);
  bool take(ObjectId object, const NameInDirectory& place);
  void lost(ObjectId object, const NameInDirectory& place, const Op& op, OpBatch& batch);
  void need(ObjectId object, const Op& op, OpBatch& batch, const NameInDirectory& former);
  Op& learn(ObjectId object, const Op& op, const NameInDirectory& former, OpBatch& batch);
  int64_t lookup_timeout(int64_t since, int64_t now) const;

  OpSource& source_;
  const TraceSplit& split_;
  const unsigned rank_;
  const ObjectSet& known_;
  const SplitTimes times_;
  const std::function<void(const Op&)> others_;
  ObjectSet passed_;  // objects that operations passed on so far have created or looked up
  OpBatch input_;
  // Names by which other ranks know an object that this rank does not know, or not by these names. The latest name is last.
  std::unordered_map<ObjectId, std::vector<Name>> names_;
  ObjectSet directories_;  // as far as operations show
  uint64_t learnt_ = 0, added_lookups_ = 0;
};

}  // namespace fsr
