// SPDX-License-Identifier: Apache-2.0
// A directory of small files, perhaps spread over subdirectories, and what bonnie++ does to one of them at a time.
//
// Every Task yields 0 or an errno, which the run then knows of. One sim uses it.
#pragma once

#include <string>
#include <vector>

#include "base/page_buffer.hpp"
#include "base/task.hpp"
#include "op.hpp"
#include "workloads/bonnie/bonnie_run.hpp"

namespace fsr {
class SimContext;
}

namespace fsr::bonnie {

class SmallFiles {
 public:
  SmallFiles(BonnieRun& run, SimContext& sim) : run_(run), sim_(sim), buffer_(size_t(run.settings.file_chunk)) {}

  void enter(Phase phase) { phase_ = phase; }  // for messages
  unsigned directories() const { return unsigned(directories_.size()); }
  bool exist() const { return top_ != kNoObject; }

  Task make_directories();
  Task remove_directory(unsigned number);  // and closes it
  Task remove_top();                       // the subdirectories are gone
  Task sync_everything();

  // `made`: for what follows by more than its name; nullptr: nothing will, which saves the target from remembering it.
  Task create(unsigned directory, const std::string& name, int64_t size, ObjectId* made);
  Task link(ObjectId file, unsigned directory, const std::string& name);
  Task symlink(const std::string& target, unsigned directory, const std::string& name, ObjectId* made);
  // stat(2), and reads all of what is not empty. `known`: the object, where it is known.
  Task look_at(unsigned directory, const std::string& name, ObjectId known);
  Task remove(unsigned directory, const std::string& name, ObjectId known);

  // One open directory, a part of its names at a time.
  Task begin_list(unsigned directory);
  Task list(unsigned directory, std::vector<std::string>* names);  // none: that was all
  Task end_list(unsigned directory);

 private:
  struct Directory {
    std::string name;
    ObjectId object = kNoObject;
    HandleId to_sync = 0, to_list = 0;  // open; 0: not
    uint64_t listed = 0;
  };

  Task make_directory(ObjectId parent, const std::string& name, ObjectId* made);
  Task open_directory(ObjectId directory, HandleId* handle);
  Task close_directory(ObjectId directory, HandleId* handle);
  Task sync_directory(unsigned directory);
  Task follow(ObjectId symlink, uint64_t* size);
  Task read(const std::string& name, ObjectId object, uint64_t size);
  int fail(const char* what, const std::string& name, int error);

  BonnieRun& run_;
  SimContext& sim_;
  PageBuffer buffer_;  // zeros
  Phase phase_ = kCreateSequential;
  ObjectId top_ = kNoObject;
  std::vector<Directory> directories_;  // the top one itself, or those in it
  std::string first_;                   // what symlinks lead to
  unsigned first_directory_ = 0;
};

}  // namespace fsr::bonnie
