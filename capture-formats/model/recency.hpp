// SPDX-License-Identifier: Apache-2.0
// Relations of objects to what a thread and the whole load touched before. Learning turns objects into references; realisation
// turns references back into objects that fit. Memory: 64 objects a thread, 8 bytes an object, and the last million touches. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <bit>
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
    objects_[object].touched = touches_;
    if (log_.size() < kLog)
      log_.push_back(object);
    else
      log_[touches_ % kLog] = object;
    ++touches_;
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
    constexpr int kTries = 24;
    if (reference.relation == Relation::known && reference.bucket > 0) {
      const uint64_t most = std::min<uint64_t>(touches_, log_.size()), low = uint64_t(1) << (reference.bucket - 1);
      if (low <= most)
        for (int i = 0; i < kTries; ++i) {
          const ObjectId object = at_age(random.between(low, std::min(most, low * 2 - 1)));
          if (good(object)) return object;
        }
    }
    for (int i = 0; i < kTries && !log_.empty(); ++i) {
      const ObjectId object = log_[random.below(log_.size())];
      if (good(object)) return object;
    }
    return kNoObject;
  }

 private:
  static constexpr size_t kLog = size_t(1) << 20;
  struct Seen {
    uint64_t touched = 0;
    ObjectId next = kNoObject;
  };
  static uint8_t bucket_of(size_t distance) { return distance < 4 ? uint8_t(distance) : uint8_t(digits(distance) + 1); }
  ObjectId at_age(uint64_t age) const { return log_[(touches_ - age) % kLog]; }

  std::unordered_map<ObjectId, Seen> objects_;
  std::vector<ObjectId> log_;
  uint64_t touches_ = 0;
};

}  // namespace fsr
