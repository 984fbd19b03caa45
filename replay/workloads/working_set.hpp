// SPDX-License-Identifier: Apache-2.0
// The files on which synthesized calls work, as they are before the first call. Each stream has its own directory `testdir<n>`,
// or several streams share one. It has the names and content of nhfsstone, and files that only calls of this program need.
//
//   testdir<n>/000abcdefghijklmn .. 039   the files that are read and written, kept open
//   testdir<n>/040abcdefghijklmn ..       files to be removed; new ones get the following numbers
//   testdir<n>/.fsreplay                  marker of a directory that a mix has made, empty
//   testdir<n>/rename1                    renamed to rename2 and back
//   testdir<n>/dir/001 .. sym/001 .. lin/001 ..   directories, symlinks, hard links (of lin/000) that are made and removed
//   testdir<n>/set001/000abcdefghijklmn ..   further files for a larger working set, 40 to a directory
//
// A shared directory has the files 000 to 039, the files of sets and the symlinks, which no stream removes. The other names are
// made by the streams, each with numbers of its own (MixStream).
//
// Sizes and names depend only on the seed, so that a later run finds what an earlier one left. Immutable once made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "op_source.hpp"
#include "plan/image.hpp"
#include "workloads/mix_plan.hpp"
#include "workloads/sizes.hpp"

namespace fsr {

constexpr unsigned kOpenFiles = 40;  // per stream, as in nhfsstone
constexpr const char* kFileSuffix = "abcdefghijklmn";
constexpr const char* kLinkText = "./symlinknamelongstuff";
constexpr uint32_t kFileMode = 0666, kDirectoryMode = 0777;

struct WorkingFile {
  ObjectId object = kNoObject;
  HandleId handle = 0;  // opened before the start; 0: not open
  ObjectId parent = kNoObject;
  std::string name;
  uint64_t size = 0;
};

struct Spare {  // an object that may be removed
  ObjectId object = kNoObject;
  ObjectId parent = kNoObject;
  std::string name;
};

// The files of one directory.
struct StreamFiles {
  unsigned number = 0;            // n of testdir<n>
  std::string name;               // name of the directory in the target's root
  std::vector<ThreadId> openers;  // streams that open the files at the start; each has open instances of its own
  ObjectId directory = kNoObject, directories = kNoObject, symlinks = kNoObject, links = kNoObject;
  HandleId listing = 0;            // handle of `directory`, of the first opener
  ObjectId marker = kNoObject;     // .fsreplay
  ObjectId renamed = kNoObject;    // rename1
  ObjectId linked = kNoObject;     // lin/000
  std::vector<WorkingFile> files;  // the first kOpenFiles are open, with the handles of the first opener
  std::vector<uint32_t> by_size;   // indices of `files`, the smallest file first
  std::vector<ObjectId> folders;   // set001, ...
  std::vector<Spare> spare_files, spare_links, spare_symlinks, spare_directories;
  size_t first_to_open = 0;      // number of the first of kOpenFiles files that a version 4 load opens and closes
  std::vector<HandleId> opened;  // handles of files[first_to_open + i], open at the start, that such a load closes
};

// The place of one stream in the set.
struct StreamPlace {
  const StreamFiles* files = nullptr;  // of its directory
  unsigned number = 0;                 // of the stream
  ThreadId thread = 0;
  HandleId handles = 0;                // added to the handles of the directory, gives those that this stream uses
  bool shared = false;                 // true: other streams work in the directory, too
  uint32_t index = 0, neighbours = 1;  // its number among the streams of the directory, and how many there are at most
};

struct WorkingSetOptions {
  std::vector<unsigned> numbers;   // of the streams; without `directories` also n of their directories testdir<n>
  std::vector<std::string> names;  // other names of these directories, in the order of `numbers`; empty: testdir<n>
  uint64_t bytes = 0;              // minimum bytes of files, over all streams
  unsigned links = 1;              // symlinks to read, for each stream
  unsigned directories = 0;        // stream k works in testdir<k mod directories>; 0: each stream has a directory of its own
  unsigned neighbours = 1;         // streams of a shared directory, at most
  unsigned openers = 1;            // streams of a shared directory that open its files at the start, at least 1
  uint64_t seed = 1;
  ObjectId first_id = kRootObject + 1;  // first id of objects and handles
};

// Returns how many streams of each shared directory should open its files. Reads and writes go to the client that opened the
// file, and are to be spread over all `clients` alike. Clients get streams in turn, and so do directories. `neighbours`: streams
// of a directory, at most.
unsigned openers_for(unsigned clients, unsigned directories, unsigned neighbours);

class WorkingSet {
 public:
  WorkingSet(const WorkingSetOptions& options, const MixPlan& plan, const SizeModel& sizes);

  const std::vector<StreamFiles>& directories() const { return directories_; }
  size_t streams() const { return numbers_.size(); }
  StreamPlace stream(size_t i) const;                    // i: 0 to streams() - 1
  ObjectId next_object() const { return next_object_; }  // first unused ids
  HandleId next_handle() const { return next_handle_; }
  Image image() const;
  // Returns the path of a file or directory below the target's root. Empty: it is not part of the set.
  std::string path_of(ObjectId object) const;

  // Returns operations that close what the image opened.
  std::unique_ptr<OpSource> closing() const;

 private:
  std::vector<StreamFiles> directories_;
  std::vector<unsigned> numbers_;  // of the streams
  std::vector<uint32_t> homes_;    // index in directories_ of each stream; empty: stream i has directories_[i]
  unsigned all_directories_ = 0;   // as in WorkingSetOptions
  unsigned neighbours_ = 1;
  HandleId handles_of_opener_ = 0;  // distance between the handles of two openers
  ObjectId next_object_;
  HandleId next_handle_;
};

// True if a load of a mix may have made that name. Other names in its directories belong to users, and are left alone.
bool is_working_name(std::string_view name);

}  // namespace fsr
