// SPDX-License-Identifier: Apache-2.0
// A directory of small files, perhaps in subdirectories, with bonnie++'s actions on one file at a time.
//
// Every Task returns 0 or an errno, which is also reported to the run. Used by one SimContext.
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

  void enter(Phase phase) { phase_ = phase; }  // phase for messages
  unsigned directories() const { return unsigned(directories_.size()); }
  bool exist() const { return top_ != kNoObject; }

  Task make_directories();
  Task remove_directory(unsigned number);  // closes its handle, too
  Task remove_top();                       // after the subdirectories were removed
  Task sync_everything();

  // `made`: gets the object, for later use of the file by more than its name. Null: the file is used by its name only, so the
  // target need not remember it.
  Task create(unsigned directory, const std::string& name, int64_t size, ObjectId* made);
  Task link(ObjectId file, unsigned directory, const std::string& name);
  Task symlink(const std::string& target, unsigned directory, const std::string& name, ObjectId* made);
  // Calls stat(2), and reads the file if it is not empty. `known`: the object; kNoObject: not known.
  Task look_at(unsigned directory, const std::string& name, ObjectId known);
  Task remove(unsigned directory, const std::string& name, ObjectId known);

  // Lists a directory in several parts.
  Task begin_list(unsigned directory);
  Task list(unsigned directory, std::vector<std::string>* names);  // empty: the listing is complete
  Task end_list(unsigned directory);

 private:
  struct Directory {
    std::string name;
    ObjectId object = kNoObject;
    HandleId to_sync = 0, to_list = 0;  // open handles; 0: not open
    uint64_t listed = 0;
  };

  Task make_directory(ObjectId parent, const std::string& name, ObjectId* made);
  Task open_directory(ObjectId directory, HandleId* handle);
  Task close_directory(ObjectId directory, HandleId* handle);
  Task may_search(ObjectId directory, HandleId handle, const std::string& name);
  Task sync_directory(unsigned directory);
  Task follow(ObjectId symlink, uint64_t* size);
  Task read(const std::string& name, ObjectId object, uint64_t size);
  int fail(const char* what, const std::string& name, int error);

  BonnieRun& run_;
  SimContext& sim_;
  PageBuffer buffer_;  // zeros
  Phase phase_ = kCreateSequential;
  ObjectId top_ = kNoObject;
  std::vector<Directory> directories_;  // the top directory, or the subdirectories in it
  std::string first_;                   // name of the file that symlinks lead to
  unsigned first_directory_ = 0;
};

}  // namespace fsr::bonnie
