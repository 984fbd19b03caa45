// SPDX-License-Identifier: Apache-2.0
// Outcomes that differed, grouped by kind of operation and by what was expected and found. So a run of which a million outcomes
// differ in two ways says so in two lines. Not thread-safe: each worker has its own, merged at the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "op.hpp"

namespace fsr {

struct Difference {
  OpKind kind = OpKind::null;
  std::string expected, got;    // "ok", "ENOENT", "fewer bytes", "other content"
  uint64_t count = 0;           // operations
  int64_t first = 0, last = 0;  // ns since the start of the run: when the earliest and the latest operation were issued
  uint64_t first_seq = 0;       // number of the earliest operation in the trace
  std::string example;          // name of that operation, later its path if that is found; empty if it has none
  ObjectId object = kNoObject, parent = kNoObject;  // of that operation
};

class Differences {
 public:
  static constexpr size_t kMost = 500;  // groups; differences of further groups are only counted

  void add(const Difference& one) {
    auto key = std::tuple(one.kind, one.expected, one.got);
    auto found = groups_.find(key);
    if (found == groups_.end()) {
      if (groups_.size() == kMost)
        others_ += one.count;
      else
        groups_.emplace(std::move(key), one);
      return;
    }
    Difference& group = found->second;
    group.count += one.count;
    group.first = std::min(group.first, one.first);
    group.last = std::max(group.last, one.last);
    if (one.first_seq >= group.first_seq) return;
    group.first_seq = one.first_seq;
    group.example = one.example;
    group.object = one.object;
    group.parent = one.parent;
  }
  void merge(const Differences& other) {
    for (const auto& [key, group] : other.groups_) add(group);
    others_ += other.others_;
  }
  void add_others(uint64_t count) { others_ += count; }
  uint64_t others() const { return others_; }  // differences that are in no group
  template <class Change>
  void each(Change change) {
    for (auto& [key, group] : groups_) change(group);
  }
  // Returns the groups, the largest first.
  std::vector<Difference> list() const {
    std::vector<Difference> all;
    for (const auto& [key, group] : groups_) all.push_back(group);
    std::stable_sort(all.begin(), all.end(), [](const Difference& a, const Difference& b) { return a.count > b.count; });
    return all;
  }

 private:
  std::map<std::tuple<OpKind, std::string, std::string>, Difference> groups_;
  uint64_t others_ = 0;
};

}  // namespace fsr
