// SPDX-License-Identifier: Apache-2.0
// The files that synthesized calls work on, as they are before the first call. Each stream has a directory `testdir<n>` of its
// own, with the names and content of nhfsstone, and files that only our own calls need.
//
//   testdir<n>/000abcdefghijklmn .. 039   the files that are read and written, kept open
//   testdir<n>/040abcdefghijklmn ..       files to be removed; new ones get the following numbers
//   testdir<n>/rename1                    renamed to rename2 and back
//   testdir<n>/dir/001 .. sym/001 .. lin/001 ..   directories, symlinks, hard links (of lin/000) that come and go
//   testdir<n>/set001/000abcdefghijklmn ..   further files for a larger working set, 40 to a directory
//
// Sizes and names follow from the seed alone, so that a later run finds what an earlier one left. Immutable once made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "op_source.hpp"
#include "plan/image.hpp"
#include "workloads/mix_plan.hpp"
#include "workloads/sizes.hpp"

namespace fsr {

constexpr unsigned kOpenFiles = 40;  // of a stream, as nhfsstone has
constexpr const char* kFileSuffix = "abcdefghijklmn";
constexpr const char* kLinkText = "./symlinknamelongstuff";
constexpr uint32_t kFileMode = 0666, kDirectoryMode = 0777;

struct WorkingFile {
  ObjectId object = kNoObject;
  HandleId handle = 0;  // open since before the start; 0: not open
  ObjectId parent = kNoObject;
  std::string name;
  uint64_t size = 0;
};

struct Spare {  // something that may be removed
  ObjectId object = kNoObject;
  ObjectId parent = kNoObject;
  std::string name;
};

struct StreamFiles {
  unsigned number = 0;  // of testdir<n>
  ThreadId thread = 0;
  ObjectId directory = kNoObject, directories = kNoObject, symlinks = kNoObject, links = kNoObject;
  HandleId listing = 0;            // of `directory`
  ObjectId renamed = kNoObject;    // rename1
  ObjectId linked = kNoObject;     // lin/000
  std::vector<WorkingFile> files;  // the first kOpenFiles are open
  std::vector<ObjectId> folders;   // set001, ...
  std::vector<Spare> spare_files, spare_links, spare_symlinks, spare_directories;
  std::vector<HandleId> opened;  // of files[i]: to be closed by a version 4 load
};

struct WorkingSetOptions {
  std::vector<unsigned> numbers;  // of the streams' directories
  uint64_t bytes = 0;             // of files, over all streams, at least
  unsigned links = 1;             // to be read, of each stream
  uint64_t seed = 1;
  ObjectId first_id = kRootObject + 1;  // objects and handles count from here
};

class WorkingSet {
 public:
  WorkingSet(const WorkingSetOptions& options, const MixPlan& plan, const SizeModel& sizes);

  const std::vector<StreamFiles>& streams() const { return streams_; }
  ObjectId next_object() const { return next_object_; }  // free ids
  HandleId next_handle() const { return next_handle_; }
  Image image() const;

  // Ends what the image opened.
  std::unique_ptr<OpSource> closing() const;

 private:
  std::vector<StreamFiles> streams_;
  ObjectId next_object_;
  HandleId next_handle_;
};

// Whether a load like this may have made that name; anything else in its directories is somebody else's, and left alone.
bool is_working_name(std::string_view name);

}  // namespace fsr
