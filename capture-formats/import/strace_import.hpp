// SPDX-License-Identifier: Apache-2.0
// Turns the system calls of a strace log into operations. docs/import.md has the mapping.
#pragma once

#include <functional>
#include <set>

#include "strace_line.hpp"
#include "strace_processes.hpp"

namespace fsr::strace {

class Calls;

// Positions of a call's arguments; -1: the call has no such argument.
struct ArgumentPositions {
  int dir = -1;  // descriptor that `path` is relative to
  int path = -1;
  int fd = -1;
  int a = -1, b = -1, c = -1;  // as the handler says
};

// A system call and the operation that it is.
struct CallSpec {
  const char* name;
  void (Calls::*handle)(const CallSpec&);
  OpKind kind;
  ArgumentPositions at = {};
};

class Calls {
 public:
  Calls(const ImportOptions& options, ImportSink& sink) : tree_(options.directory), sink_(sink), processes_(tree_, sink) {}

  void line(const Line& line);
  // Says that a thread which no line has shown yet shares the descriptors and the directory of process `pid`.
  void add_thread(int32_t tid, int32_t pid) {
    processes_.cloned(processes_.thread(pid), tid, "CLONE_FS|CLONE_FILES|CLONE_THREAD");
  }
  void finish();  // at the end of the log

 private:
  friend struct CallTable;
  // Finds the file that a call's path leads to. False: there is nothing to import; the call is counted.
  bool locate(const CallSpec& spec, bool follow, ImportTree::Found* found) {
    return locate(spec.at.dir, spec.at.path, follow, found);
  }
  bool locate(int dir, int path, bool follow, ImportTree::Found* found);
  // Does what locate() does for calls on the name itself. The name must be in a directory that is imported.
  bool locate_name(int dir, int path, ImportTree::Found* found);
  bool base_of(int dir, NodeId* base);
  bool accounted(const ImportTree::Found& found);
  // The file itself, which the trace gets to know if it did not; 0: as locate().
  NodeId file_at(const CallSpec& spec, bool follow);
  NodeId file(ImportTree::Found& found, uint32_t type = 0);
  // Puts the name and its directory into `op`. The trace gets to know the directory first.
  void set_name(Op& op, const ImportTree::Found& found);
  // The open file behind an argument. Null: the file is not imported; the call is counted.
  std::shared_ptr<Description> opened(int n) { return opened(arg(n)); }
  std::shared_ptr<Description> opened(std::string_view descriptor);
  bool refused_by_kernel();  // before a file system was asked; accounted for

  Op begin(OpKind kind) const;
  void add(Op op, NodeId object);  // the file is introduced first
  void add(const Op& op) { sink_.add(op); }
  void note(ImportNotes::Kind kind, std::string_view why) { sink_.note(kind, why); }
  std::string_view arg(int n) const {
    return n >= 0 && size_t(n) < call_.args.size() ? call_.args[size_t(n)] : std::string_view();
  }
  int64_t number(int n) const;
  void learn(NodeId node, const Attr& attr);

  void call();
  void set_descriptor(int fd, std::shared_ptr<Description> open, bool close_on_exec);
  void close_descriptor(Descriptors& files, int fd, const Op& like);
  void close_all(Thread& thread, const Op& like, bool on_exec_only);
  void release(const std::shared_ptr<Description>& open, const Op& like);
  void ended();
  void range_of(const CallSpec& spec, Description& open, Op* op);
  void split_transfer(int in, int in_offset, int out, int out_offset, uint64_t length);

  // Handlers, one for calls of one shape. strace_files.cpp
  void open(const CallSpec& spec);      // a: flags, b: mode
  void open_how(const CallSpec& spec);  // a: struct open_how
  void open_outside(ImportTree::Found& found, uint64_t flags);
  bool find_opened(ImportTree::Found& found, uint64_t flags);
  void add_open(Op& op, NodeId node, uint64_t flags, bool made);
  void close(const CallSpec& spec);
  void close_range(const CallSpec& spec);
  void duplicate(const CallSpec& spec);  // a: the new one, b: flags
  void control(const CallSpec& spec);    // fcntl
  void no_file(const CallSpec& spec);    // returns descriptors that are none of files
  void lock(const CallSpec& spec);       // flock; a: operation
  void record_lock(OpKind kind, int64_t command, bool wait, bool ofd);
  // strace_data.cpp
  void transfer(const CallSpec& spec);  // a: length or iovec, b: offset
  void seek(const CallSpec& spec);      // a: offset, b: whence, c: where the new position is written, else it is returned
  void sync(const CallSpec& spec);      // a: 1: data only (fdatasync)
  void allocate(const CallSpec& spec);
  void list_directory(const CallSpec& spec);
  void copy_range(const CallSpec& spec);
  void send_file(const CallSpec& spec);
  void map(const CallSpec& spec);
  void control_device(const CallSpec& spec);
  void clone_range();
  // strace_names.cpp
  void make(const CallSpec& spec);          // a: mode, b: device
  void make_symlink(const CallSpec& spec);  // a: target
  void make_link(const CallSpec& spec);     // a, b: new directory and path; c: flags
  void remove(const CallSpec& spec);        // a: flags
  void rename(const CallSpec& spec);        // a, b: new directory and path; c: flags
  void read_link(const CallSpec& spec);     // a: buffer, b: its size
  void change_directory(const CallSpec& spec);
  void change_umask(const CallSpec& spec);
  // strace_attributes.cpp
  void stat(const CallSpec& spec);          // a: structure, b: flags
  void check_access(const CallSpec& spec);  // a: mode, b: flags
  void set_mode(const CallSpec& spec);      // a: mode, b: flags
  void set_owner(const CallSpec& spec);     // a: uid, b: gid, c: flags
  void set_size(const CallSpec& spec);      // a: size
  void set_times(const CallSpec& spec);     // a: times, b: flags
  void set(const CallSpec& spec, const Attr& attr, bool follow);
  void file_system(const CallSpec& spec);  // statfs, syncfs
  void attribute(const CallSpec& spec);    // xattr; a: name, b: value, c: size
  // strace_processes
  void execute(const CallSpec& spec);
  void clone(const CallSpec& spec);
  void lose(const CallSpec& spec);  // counts a call on files that can't be expressed
  void unknown();
  bool names_file();  // an argument is a path to, or a descriptor of, a file that is imported

  static const CallSpec* find(std::string_view name);

  ImportTree tree_;
  ImportSink& sink_;
  Processes processes_;
  HandleId next_handle_ = 1;
  Call call_;
  Thread* thread_ = nullptr;
  int64_t start_ = 0, end_ = 0;
  std::set<std::string, std::less<>> unknown_;  // names that were reported
};

// True for a system call that never concerns a file, whatever its arguments are. Defined in strace_no_files.cpp.
bool concerns_no_file(std::string_view name);

}  // namespace fsr::strace
