// SPDX-License-Identifier: Apache-2.0
// The twelve tests as operations, for targets of other protocols: the same files, names, sizes and counts. A command that names a
// file becomes a lookup, and a fork an open file. The big file is transferred in requests of 8 MiB, which the target may divide.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "threads/barrier.hpp"
#include "threads/sim_context.hpp"
#include "workloads/lantest/settings.hpp"
#include "workloads/lantest/stopwatch.hpp"
#include "workloads/lantest/zeros.hpp"

namespace fsr::lantest {

class OpTests final : public SimThread {
 public:
  // Called at the end of each test, on the worker of the session; iterations count from 1.
  using ReportTest = std::function<void(unsigned iteration, unsigned test, const Measures& measures)>;

  // `session`: as for test_directory(). `start`: barrier of several sessions before the measured part of each test. `common`:
  // barrier for a session that has a worker of its own.
  OpTests(const Settings& settings, unsigned session, Clock& clock, Barrier* start, CommonStart* common, ReportTest report);
  SimTask run(SimContext& sim) override;

  const Results& results() const { return results_; }
  const std::string& failure() const { return failure_; }        // "iteration 1, test 2: create of 'File.big': File exists"
  const std::string& impossible() const { return impossible_; }  // tests that the target can't express: "4"
  const std::string& directory() const { return name_; }
  bool made() const { return dir_ != kNoObject; }
  bool removed() const { return made_.empty(); }

 private:
  struct Made {
    ObjectId parent;
    std::string name;
    bool is_directory;
  };

  Task run_all(SimContext& sim);
  Task clear(SimContext& sim);
  Task perform(SimContext& sim, Test test);
  bool possible(SimContext& sim, Test test);
  Task begin(SimContext& sim);  // begins the measured part

  // Performs one operation and, in the measured part, counts it by its kind. Returns 0 or the errno.
  Task step(SimContext& sim, const Op& op, const std::string& about, const PerformOptions& how = {});
  Task look(SimContext& sim, ObjectId parent, const std::string& name, ObjectId known);
  Task create(SimContext& sim, ObjectId parent, const std::string& name, ObjectId* made, uint64_t bytes = 0);
  Task make_dir(SimContext& sim, ObjectId parent, const std::string& name, ObjectId* made);
  Task remove(SimContext& sim, ObjectId object);
  Task open(SimContext& sim, ObjectId object, uint32_t flags);  // sets open_ and handle_
  Task close(SimContext& sim);
  Task move_bytes(SimContext& sim, OpKind kind, uint64_t bytes);  // transfers bytes of the open file, from offset 0

  using Steps = Task(SimContext& sim);
  Steps read_small, write_big, read_big, lock_and_unlock, create_files, list, list_files, remove_files, make_tree, hit_cache, mix,
      walk_deep, validate;
  Task make_dirs(SimContext& sim, ObjectId parent, unsigned count, unsigned depth);

  const Settings& settings_;
  Barrier* const start_;
  const ReportTest report_;
  Stopwatch watch_;
  const std::string name_;
  const Zeros zeros_;
  ObjectId dir_ = kNoObject, open_ = kNoObject, big_ = kNoObject;
  HandleId handle_ = 0;            // 0: no file is open
  std::vector<ObjectId> files_;    // files of test 5
  std::map<ObjectId, Made> made_;  // existing files and directories; entries come after their directory
  std::map<OpKind, Histogram> times_;
  Results results_;
  std::string failure_, impossible_;
  size_t listed_ = 0;  // entries in the last readdir
  bool leaving_ = false;
};

}  // namespace fsr::lantest
