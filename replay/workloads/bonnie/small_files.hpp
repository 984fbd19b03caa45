// SPDX-License-Identifier: Apache-2.0
// A directory of small files, perhaps in subdirectories, with bonnie++'s actions on one file at a time.
//
// Every Task returns 0 or an errno, which is also reported to the run. Used by one SimContext.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/page_buffer.hpp"
#include "base/target.hpp"
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
  bool is_removed(unsigned directory) const { return directories_[directory].object == kNoObject; }

  Task make_directories();
  Task remove_directory(unsigned number);  // closes its handle, too
  Task remove_top();                       // after the subdirectories were removed
  Task sync_everything();

  // creation(), aim_creation() and aim() make requests for one file. The caller performs them, because a Task for each file would
  // take a tenth of the request. is_complete() says whether the outcome ends the action. If it does not, complete() goes on. It
  // writes, reads, syncs, or reports a failure. `op` must live until then.
  Op creation() const;
  // Makes creation() one of this file. `by_name`: the file is used by its name only, so the target need not remember it.
  void aim_creation(Op& op, unsigned directory, std::string_view name, int64_t size, bool by_name) const;
  // Makes a lookup or an unlink one of this file. `known`: the object; kNoObject: not known.
  void aim(Op& op, unsigned directory, std::string_view name, ObjectId known) const;
  bool is_complete(const Op& op, const Outcome& outcome) const;
  Task complete(const Op& op, const Outcome& outcome, unsigned directory, int64_t size);  // `size`: bytes of a created file

  Task link(ObjectId file, unsigned directory, std::string_view name);
  Task symlink(std::string_view target, unsigned directory, std::string_view name, ObjectId* made);

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
  Task fill(const Op& op, unsigned directory, const std::string& name, int64_t size);
  Task look_on(unsigned directory, const std::string& name, ObjectId known, Outcome seen);
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
