// SPDX-License-Identifier: Apache-2.0
// Tells which sizes and places are of no file alone: those that three files of different names have in every trace. One thread.
//
// Memory: 50 bytes for each value and file of a trace.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "op.hpp"

namespace fsr {

class Witnesses {
 public:
  // Number of what is measured, bytes or entries, and 1 more than an offset, or 0.
  using Value = std::tuple<uint32_t, uint64_t, uint64_t>;
  void note(const Value& value, ObjectId object) { seen_[value].insert(object); }
  // `name`: hash of the latest name of an object; 0: it has none. Objects that never have one count as one.
  void name(ObjectId object, uint64_t name) {
    if (name) names_[object] = name;
  }
  void end_trace() {
    for (const auto& [value, objects] : seen_) {
      std::unordered_set<uint64_t> different;
      for (ObjectId object : objects)
        if (auto name = names_.find(object); different.insert(name == names_.end() ? 0 : name->second).second)
          if (different.size() == kFiles) break;
      if (different.size() == kFiles) ++traces_of_[value];
    }
    seen_.clear();
    names_.clear();
    ++traces_;
  }
  // True: enough files have the value in each trace that has ended.
  bool common(const Value& value) const {
    auto found = traces_of_.find(value);
    return found != traces_of_.end() && found->second == traces_;
  }

 private:
  static constexpr size_t kFiles = 3;
  std::map<Value, std::set<ObjectId>> seen_;  // of the trace in hand
  std::unordered_map<ObjectId, uint64_t> names_;
  std::map<Value, unsigned> traces_of_;  // number of traces in which enough files have it
  unsigned traces_ = 0;
};

}  // namespace fsr
