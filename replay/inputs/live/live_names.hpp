// SPDX-License-Identifier: Apache-2.0
// The names, objects and open instances that the windows of a live capture have shown so far. Memory grows with the number of
// names that exist, and with those removed in the last seconds. One thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "op.hpp"
#include "util/object_set.hpp"

namespace fsr {

class LiveNames {
 public:
  LiveNames();
  void apply(const Op& op);  // in order of effect; of a window, after its image was prepared
  void add_object(ObjectId object) { objects_.insert(object); }
  void add_handle(HandleId handle) { handles_.insert(handle); }
  // `listed`: only a listing has shown the name, so that its object is not known.
  void add_name(ObjectId parent, std::string_view name, bool listed = false);

  bool object(ObjectId object) const { return objects_.contains(object); }
  bool handle(HandleId handle) const { return handles_.contains(handle); }
  bool name(ObjectId parent, std::string_view name) const;
  bool listed(ObjectId parent, std::string_view name) const;
  // True: an operation that ended after `time` (recorded, ns) has removed the name.
  bool removed_since(ObjectId parent, std::string_view name, int64_t time) const;
  void forget_removed(int64_t before);  // names that were removed by operations that ended before

 private:
  ObjectSet objects_, handles_;
  std::unordered_set<uint64_t> names_, listed_;    // hashes of parent and name
  std::unordered_map<uint64_t, int64_t> removed_;  // hash, and end of the operation that removed the name
};

}  // namespace fsr
