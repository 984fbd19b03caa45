// SPDX-License-Identifier: Apache-2.0
// bonnie++'s tests of many small files. They are created, read and deleted, first in sequence and in the order of a listing, then
// in random order. The files are removed even if a test fails or is interrupted.
#pragma once

#include <string>
#include <vector>

#include "base/task.hpp"
#include "op.hpp"
#include "threads/sim_thread.hpp"
#include "workloads/bonnie/bonnie_run.hpp"
#include "workloads/bonnie/file_names.hpp"
#include "workloads/bonnie/meter.hpp"
#include "workloads/bonnie/small_files.hpp"

namespace fsr::bonnie {

class FilesThread final : public SimThread {
 public:
  // `run` must outlive this.
  explicit FilesThread(BonnieRun& run) : run_(run) {}
  SimTask run(SimContext& sim) override;

 private:
  // Every Task returns 0 or an errno, which is also reported to the run.
  Task round(SimContext& sim, SmallFiles& files, bool random);
  Task create_all(SimContext& sim, SmallFiles& files, Phase phase);
  Task link(SmallFiles& files, NamedFile& file);
  int64_t next_size();  // bytes of the next file
  bool by_name() const;
  void fetch_ahead(const NamedFile& file) const;
  ObjectId object_of(const NamedFile& file) const { return objects_.empty() ? kNoObject : objects_[file.number]; }
  // Applies `act` to each file. Sequential tests follow the order of listings, random tests that of files_.
  enum class Act { look, remove };
  Task each(SimContext& sim, SmallFiles& files, Phase phase, Act act, bool random);
  Task each_listed(SimContext& sim, SmallFiles& files, Phase phase, Act act);
  Task each_in_directory(SimContext& sim, SmallFiles& files, unsigned directory, Act act, Meter& meter, int64_t* found);
  Task each_named(SimContext& sim, SmallFiles& files, Phase phase, Act act);
  Task clean_up(SimContext& sim, SmallFiles& files);
  // Returns the file of a listed name. Null: this program did not create it.
  NamedFile* file_of(std::string_view name);

  BonnieRun& run_;
  NameList names_;
  std::vector<ObjectId> objects_;  // by number; empty: all files are used by their names
};

}  // namespace fsr::bonnie
