// SPDX-License-Identifier: Apache-2.0
// Relations of objects to what a thread and the whole load touched before. Learning turns objects into references; realisation
// turns references back into objects that fit. Memory: 64 objects a thread, and about 100 bytes an object. Not thread-safe.
#pragma once

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>
#include <vector>

#include "model/symbol.hpp"
#include "util/random.hpp"

namespace fsr {

// The objects that one thread touched lately.
struct Near {
  static constexpr size_t kMost = 64;
  std::vector<ObjectId> objects;  // the latest is the last
  ObjectId last = kNoObject;
};

class Recency {
 public:
  Reference classify(const Near& near, ObjectId object) const {
    if (!near.objects.empty() && near.objects.back() == object) return {Relation::recent, 0};
    auto seen = objects_.find(object);
    if (seen == objects_.end()) return {Relation::fresh, 0};
    if (auto last = objects_.find(near.last); last != objects_.end() && last->second.next == object) return {Relation::next, 0};
    for (size_t i = near.objects.size(); i-- > 0;)
      if (near.objects[i] == object) return {Relation::recent, bucket_of(near.objects.size() - 1 - i)};
    return {Relation::known, digits(touches_ - seen->second.touched)};
  }

  void touch(Near& near, ObjectId object) {
    if (near.last != kNoObject && near.last != object) objects_[near.last].next = object;
    near.last = object;
    if (auto old = std::find(near.objects.rbegin(), near.objects.rend(), object); old != near.objects.rend())
      near.objects.erase(std::next(old).base());
    else if (near.objects.size() == Near::kMost)
      near.objects.erase(near.objects.begin());
    near.objects.push_back(object);
    auto [seen, first] = objects_.try_emplace(object);
    if (!first) by_touch_.erase(seen->second.touched);
    by_touch_[seen->second.touched = touches_++] = object;
  }

  // Returns what a reference of the relation `next` stands for. kNoObject: nothing was touched after the thread's last object.
  ObjectId next(const Near& near) const {
    auto last = objects_.find(near.last);
    return last == objects_.end() ? kNoObject : last->second.next;
  }

  // Returns an object for which `good` is true, as near to `reference` as there is. kNoObject: none was found.
  template <class Good>
  ObjectId find(const Near& near, Reference reference, Random& random, Good good) const {
    if (reference.relation == Relation::next)
      if (auto last = objects_.find(near.last); last != objects_.end() && last->second.next && good(last->second.next))
        return last->second.next;
    if (reference.relation == Relation::recent) {
      const size_t n = near.objects.size();
      const size_t begin = reference.bucket < 4 ? reference.bucket : size_t(1) << (reference.bucket - 2);
      for (size_t i = begin; i < n; ++i)
        if (good(near.objects[n - 1 - i])) return near.objects[n - 1 - i];
      for (size_t i = std::min(begin, n); i-- > 0;)
        if (good(near.objects[n - 1 - i])) return near.objects[n - 1 - i];
    }
    if (reference.relation == Relation::known && reference.bucket > 0) {
      // Objects that the thread touched lately have other references.
      auto far = [&](ObjectId object) {
        return std::find(near.objects.begin(), near.objects.end(), object) == near.objects.end() && good(object);
      };
      const uint64_t least = uint64_t(1) << (reference.bucket - 1), most = std::min(touches_, least * 2 - 1);
      if (least <= most) {
        const uint64_t first = touches_ - most, last = touches_ - least;
        const uint64_t at = random.between(first, last);
        if (const ObjectId object = touched(at, last + 1, far)) return object;
        if (const ObjectId object = touched(first, at, far)) return object;
        if (const ObjectId object = touched(0, first, far)) return object;
      }
    }
    if (touches_ == 0) return kNoObject;
    const uint64_t at = random.below(touches_);
    if (const ObjectId object = touched(at, touches_, good)) return object;
    return touched(0, at, good);
  }

 private:
  static constexpr int kTries = 64;
  // Returns an object that was touched last at or after `from` and before `to`, both in touches.
  template <class Good>
  ObjectId touched(uint64_t from, uint64_t to, Good good) const {
    int tries = 0;
    for (auto at = by_touch_.lower_bound(from); at != by_touch_.end() && at->first < to && tries < kTries; ++at, ++tries)
      if (good(at->second)) return at->second;
    return kNoObject;
  }

  struct Seen {
    uint64_t touched = 0;
    ObjectId next = kNoObject;
  };
  static uint8_t bucket_of(size_t distance) { return distance < 4 ? uint8_t(distance) : uint8_t(digits(distance) + 1); }

  std::unordered_map<ObjectId, Seen> objects_;
  std::map<uint64_t, ObjectId> by_touch_;  // each object at its last touch
  uint64_t touches_ = 0;
};

}  // namespace fsr
