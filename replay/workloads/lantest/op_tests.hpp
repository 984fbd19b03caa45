// SPDX-License-Identifier: Apache-2.0
// The twelve tests as operations, for targets of other protocols: the same files, names, sizes and counts. What AFP asks by name
// is a lookup, a fork is an open file, and the big file goes in requests of 8 MiB, each of which the target may divide.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "stage/barrier.hpp"
#include "stage/seat.hpp"
#include "workloads/lantest/settings.hpp"
#include "workloads/lantest/stopwatch.hpp"
#include "workloads/lantest/zeros.hpp"

namespace fsr::lantest {

class OpTests final : public Player {
 public:
  // At the end of each test, on the thread of the stage's worker; iterations count from 1.
  using Told = std::function<void(unsigned iteration, unsigned test, const Measures& measures)>;

  // `session` as for test_directory(). `start`: where several sessions meet before the measured part of each test. `common`:
  // where one that has its worker for itself does.
  OpTests(const Settings& settings, unsigned session, Clock& clock, Barrier* start, CommonStart* common, Told told);
  Actor play(Seat& seat) override;

  const Results& results() const { return results_; }
  const std::string& failure() const { return failure_; }        // "iteration 1, test 2: create of 'File.big': File exists"
  const std::string& impossible() const { return impossible_; }  // tests that the target can't do: "4"
  const std::string& directory() const { return name_; }
  bool made() const { return dir_ != kNoObject; }
  bool removed() const { return made_.empty(); }

 private:
  struct Made {
    ObjectId parent;
    std::string name;
    bool is_directory;
  };

  Task run_all(Seat& seat);
  Task clear(Seat& seat);
  Task perform(Seat& seat, Test test);
  bool possible(Seat& seat, Test test);
  Task begin(Seat& seat);  // the measured part

  // One operation, counted by its kind where it is measured. 0 or what it failed with.
  Task step(Seat& seat, const Op& op, const std::string& about, const How& how = {});
  Task look(Seat& seat, ObjectId parent, const std::string& name, ObjectId known);
  Task create(Seat& seat, ObjectId parent, const std::string& name, ObjectId* made, uint64_t bytes = 0);
  Task make_dir(Seat& seat, ObjectId parent, const std::string& name, ObjectId* made);
  Task remove(Seat& seat, ObjectId object);
  Task open(Seat& seat, ObjectId object, uint32_t flags);  // open_ and handle_
  Task close(Seat& seat);
  Task move_bytes(Seat& seat, OpKind kind, uint64_t bytes);  // of the open file, from its beginning

  Task read_small(Seat& seat);
  Task write_big(Seat& seat);
  Task read_big(Seat& seat);
  Task lock_and_unlock(Seat& seat);
  Task create_files(Seat& seat);
  Task list(Seat& seat);
  Task list_files(Seat& seat);
  Task remove_files(Seat& seat);
  Task make_tree(Seat& seat);
  Task make_dirs(Seat& seat, ObjectId parent, unsigned count, unsigned depth);
  Task hit_cache(Seat& seat);
  Task mix(Seat& seat);
  Task walk_deep(Seat& seat);
  Task validate(Seat& seat);

  const Settings& settings_;
  Barrier* const start_;
  const Told told_;
  Stopwatch watch_;
  const std::string name_;
  const Zeros zeros_;
  ObjectId dir_ = kNoObject, open_ = kNoObject, big_ = kNoObject;
  HandleId handle_ = 0;            // 0: nothing is open
  std::vector<ObjectId> files_;    // of test 5
  std::map<ObjectId, Made> made_;  // and not removed; those inside come after what they are in
  std::map<OpKind, Histogram> times_;
  Results results_;
  std::string failure_, impossible_;
  size_t listed_ = 0;  // entries that the latest readdir found
  bool leaving_ = false;
};

}  // namespace fsr::lantest
