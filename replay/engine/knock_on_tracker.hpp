// SPDX-License-Identifier: Apache-2.0
// Finds consequences of operations that were not done, because the target can't express them or because they are unsafe. A
// differing outcome is a consequence if the operation touches what such an operation should have changed. The same applies to
// what an operation did not change as a consequence.
//
// With Marks::differences, an outcome that differs is a cause as well. It marks its objects and names, until they are removed or
// made again.
//
// Thread-safe. Costs nothing while all operations are done. Memory is bounded; beyond the limit, further consequences are not
// recognized.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "op.hpp"
#include "plan/accesses.hpp"
#include "util/object_set.hpp"

namespace fsr {

class KnockOnTracker {
 public:
  struct Cause {
    uint64_t seq = 0;
    OpKind kind = OpKind::null;
    std::string name;
    bool differed = false;  // true: the operation was issued, and its outcome differed
  };
  enum class Marks : uint8_t { left_out, differences };  // causes: operations that were not done; differences as well

  // Operations that changed the captured tree and were not done, so that the target's tree differs.
  struct LeftOut {
    static constexpr size_t kNamed = 5;
    uint64_t count = 0;
    std::vector<Cause> first;  // the earliest ones

    void add(Cause cause);
    void merge(const LeftOut& other);
  };

  explicit KnockOnTracker(Marks marks = Marks::left_out) : marks_differences_(marks == Marks::differences) {}
  // True: outcomes must be told before operations that wait for them are issued.
  bool marks_differences() const { return marks_differences_; }

  void not_done(const Op& op);
  // Like not_done() for an operation of another process, which counts it as left out. May be called before the time of `op`: only
  // operations with a higher number are consequences.
  void not_done_elsewhere(const Op& op);
  // True: the differing outcome of `op` is a consequence. Then what `op` should have changed counts as not done, too. If `op`
  // failed in the capture and succeeded on the target, what it changed there counts as a difference, too. `error`: on the target.
  bool follows(const Op& op, int error);
  // Call it if the outcome of `op` differed and follows() is false. Without Marks::differences, this function and the next two do
  // nothing.
  void differed(const Op& op, int error);
  // Call it if the outcome of `op` was as recorded. It shows that the objects, names and open instances that it used are there in
  // both trees. An object that it removed, or a file that it emptied, differs no longer.
  void agreed(const Op& op);
  // Forgets what differed of an object that was made again under this name.
  void made_again(ObjectId object, ObjectId parent, std::string_view name);
  // True: `op` could remove a directory that was not empty in the capture, because the files in it were not made.
  bool would_remove(const Op& op);
  std::optional<Cause> first();  // the earliest cause that had a consequence
  LeftOut left_out();
  uint64_t after_differences();  // number of times that follows() was true because of an outcome that differed
  uint64_t diverged();           // objects and names that differ now, as far as outcomes have shown

 private:
  struct Source : Cause {
    bool elsewhere = false;
  };

  void add(Source cause, const Op& op);
  void collect(const Op& op);
  void collect_changed(const Op& op, int error);
  std::optional<uint32_t> cause_of(const Op& op);
  // Marks what the accesses change as not done because of causes_[cause]. False: nothing was, or an earlier cause stands there.
  bool spread(uint32_t cause);
  void mark(uint32_t cause, const Op& op, int error);
  void unmark(uint64_t key);
  void forget_object(ObjectId object);

  const bool marks_differences_;
  std::atomic<bool> marked_{false};  // something differs
  std::mutex mutex_;
  ObjectSet known_, locked_, nameless_;
  AccessList accesses_;
  std::vector<Source> causes_;
  std::unordered_map<uint64_t, uint32_t> unchanged_;  // key of what should have been changed, and index of the earliest cause
  std::optional<uint32_t> first_;
  LeftOut left_out_;
  std::unordered_set<uint64_t> diverged_;  // objects with a mark, and keys of marked names without an object
  uint64_t after_differences_ = 0;
};

}  // namespace fsr
