// SPDX-License-Identifier: Apache-2.0
// State of an FSD's tree: the existing files and directories, which threads use them, and their objects on the target. It lasts
// over the runs of a parameter file while the structure stays the same. Thread-safe; only the thread that has claimed a File may
// use its members.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "op.hpp"
#include "util/random.hpp"
#include "workloads/vdbench/files/structure.hpp"
#include "workloads/vdbench/plan/rank_slice.hpp"
#include "workloads/vdbench/validate/validator.hpp"

namespace fsr::vdbench {

class Anchor {
 public:
  struct File {
    ObjectId object = kNoObject;  // kNoObject: not known to the target
    uint64_t current = 0;         // bytes of the file
    uint64_t position = 0;        // offset at which a sequential thread goes on
    uint32_t users = 0;           // number of threads that have claimed it, or kExclusive
    bool exists = false, copied = false;
    bool longer = false;    // has more bytes than the structure says; set when the tree is surveyed
    bool selected = false;  // chosen once in this run
  };
  struct Directory {
    ObjectId object = kNoObject;
    uint32_t files = 0;  // existing files in this directory
    bool exists = false, busy = false;
  };

  // `target_index`: number of its target in the thread runner.
  Anchor(std::string name, const FileSystem& settings, unsigned target_index);

  // Turns data validation on. `unit`: bytes of a block, a multiple of 512 that divides all sizes of transfers. Throws
  // std::runtime_error if it does not divide the sizes of the files.
  void validate(const FileSystem& settings, uint64_t unit);
  ValidatedStorage* validated() { return validated_.get(); }  // may be null
  // Return the row of all files, whose offsets identify keys, and the beginning of a file in it. Call them only with data
  // validation.
  const FileRow& row() const { return *row_; }
  uint64_t base_of(uint32_t file) const { return row_->begin_of(file); }

  const std::string& name() const { return name_; }
  const Structure& structure() const { return structure_; }
  unsigned target_index() const { return target_index_; }
  // Directory that is the anchor itself.
  ObjectId root = kRootObject;

  File& file(uint32_t n) { return files_[n]; }
  Directory& directory(uint64_t n) { return directories_[n]; }
  ObjectId object_of_directory(uint64_t n) const { return n == Structure::kAnchor ? root : directories_[n].object; }
  bool exists(uint64_t directory) const { return directory == Structure::kAnchor || directories_[directory].exists; }

  // Begins a run, and with it selections and cursors. totalsize= and workingsetsize= select files of the tree; the run uses those
  // whose numbers are in `dealt`. Returns the number of selected files.
  size_t begin_run(uint64_t seed, const FileSystem& settings, const RankSlice& dealt);
  const std::vector<uint32_t>& chosen() const { return chosen_; }  // files that the run uses
  // Assumes from now on that no file or directory exists.
  void forget();
  // Returns the next file as fileselect= chooses it. None: each file has been chosen once, as that requires.
  std::optional<uint32_t> choose(const FileWorkload& how);
  std::optional<uint64_t> choose_directory(bool random);
  // Claims the file for this thread. `alone`: no other thread may use it meanwhile. False: another thread has claimed it.
  bool claim(uint32_t file, bool alone);
  void release(uint32_t file);
  bool claim_directory(uint64_t directory);
  void release_directory(uint64_t directory);

  // Record a change of a claimed file or directory: made, removed, resized.
  void made(uint32_t file, ObjectId object);
  void removed(uint32_t file);
  void resized(uint32_t file, uint64_t bytes);
  void made_directory(uint64_t directory, ObjectId object);
  void removed_directory(uint64_t directory);
  bool has_files(uint64_t directory) const;
  bool has_directories(uint64_t directory) const;
  // Number of chosen files that exist.
  uint64_t existing_files() const { return existing_files_.load(std::memory_order_relaxed); }
  uint64_t existing_directories() const { return existing_directories_.load(std::memory_order_relaxed); }
  bool all_files_exist() const { return existing_files() >= chosen_.size(); }
  bool all_directories_exist() const { return existing_directories() >= structure_.directories(); }

 private:
  static constexpr uint32_t kExclusive = ~uint32_t(0);

  const std::string name_;
  const Structure structure_;
  const unsigned target_index_;
  mutable std::mutex mutex_;
  std::vector<File> files_;
  std::vector<uint32_t> chosen_;
  std::unique_ptr<const FileRow> row_;
  std::unique_ptr<ValidatedStorage> validated_;
  std::vector<Directory> directories_;
  std::atomic<uint64_t> existing_files_{0}, existing_directories_{0};
  size_t next_file_ = 0, next_directory_ = 0, selected_ = 0;
  bool placed_ = false;  // the cursor has been set to a random file
  Random random_{0};
};

}  // namespace fsr::vdbench
