// SPDX-License-Identifier: Apache-2.0
// hostile_trace FILE OUTSIDE: writes a trace that tries to reach the directory OUTSIDE (which holds the file "canary") from
// wherever it is replayed, and to leave there what only a privileged user may make.
// hostile_trace --large: prints a trace of writes of 128 MiB by many threads at a time.
// hostile_trace --newer: prints the header of a trace of the next format version.
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>

#include "trace/bytes.hpp"
#include "trace/frame.hpp"
#include "trace/writer.hpp"

using namespace fsr;

namespace {

class Hostile {
 public:
  Hostile(TraceWriter& writer, std::string outside) : writer_(writer), outside_(std::move(outside)) {}

  void names() {
    for (const std::string& name :
         {std::string(".."), std::string("."), std::string("../escaped"), outside_ + "/escaped",
          std::string("a/../../../../../../tmp/escaped"), std::string("nul\0name", 8), std::string(300, 'x')}) {
      add({.kind = OpKind::mkdir, .mode = 0777, .object = ++last_, .parent = kRootObject, .name = name});
      add({.kind = OpKind::lookup, .object = ++last_, .parent = kRootObject, .name = name});
      add({.kind = OpKind::create,
           .mode = 0666,
           .open_flags = O_RDWR | O_CREAT,
           .object = ++last_,
           .parent = kRootObject,
           .handle = last_,
           .name = name});
      add({.kind = OpKind::write, .object = last_, .handle = last_, .length = 4, .result = 4});
      add({.kind = OpKind::rename,
           .object = last_,
           .parent = kRootObject,
           .parent2 = kRootObject,
           .name = "innocent",
           .name2 = name});
      add({.kind = OpKind::link, .object = last_, .parent2 = kRootObject, .name2 = name});
      add({.kind = OpKind::unlink, .object = last_, .parent = kRootObject, .name = name});
      add({.kind = OpKind::symlink, .object = ++last_, .parent = kRootObject, .name = name, .data = "/"});
      DirEntry entry{.name = name, .ino = 7, .type = S_IFREG};
      add({.kind = OpKind::opendir, .open_flags = O_DIRECTORY, .object = kRootObject, .handle = ++last_});
      add({.kind = OpKind::readdir, .object = kRootObject, .handle = last_, .length = 4096, .result = 1, .entries = {&entry, 1}});
      add({.kind = OpKind::releasedir, .object = kRootObject, .handle = last_});
    }
  }

  // Everything that can be asked of an object, of one that is a symlink to what lies outside.
  void through_symlinks() {
    for (const std::string& to : {outside_, outside_ + "/canary"}) {
      ObjectId link = ++last_;
      std::string name = "link" + std::to_string(link);
      add({.kind = OpKind::symlink, .object = link, .parent = kRootObject, .name = name, .data = to});
      below(link);
      // The same link where the trace believed a directory or a file.
      Attr directory{.valid = kAttrMode, .mode = S_IFDIR | 0777}, file{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0666};
      for (const Attr* believed : {&directory, &file}) {
        ObjectId other = ++last_;
        add({.kind = OpKind::lookup, .object = other, .parent = kRootObject, .name = name, .attr = believed});
        below(other);
      }
    }
    // A directory that is replaced by a symlink behind the replayer's back.
    ObjectId dir = ++last_;
    add({.kind = OpKind::mkdir, .mode = 0777, .object = dir, .parent = kRootObject, .name = "swapped"});
    add({.kind = OpKind::rmdir, .parent = kRootObject, .name = "swapped"});
    add({.kind = OpKind::symlink, .object = ++last_, .parent = kRootObject, .name = "swapped", .data = outside_});
    below(dir);
  }

  void privileges() {
    add({.kind = OpKind::mknod,
         .mode = S_IFCHR | 0666,
         .flags = 0x103,
         .object = ++last_,
         .parent = kRootObject,
         .name = "device"});
    add({.kind = OpKind::mknod,
         .mode = S_IFBLK | 0666,
         .flags = 0x800,
         .object = ++last_,
         .parent = kRootObject,
         .name = "disk"});
    add({.kind = OpKind::open, .open_flags = O_RDWR, .object = last_, .handle = last_});
    add({.kind = OpKind::mknod, .mode = S_IFREG | 06777, .object = ++last_, .parent = kRootObject, .name = "set-id-node"});
    add({.kind = OpKind::mkdir, .mode = 06777, .object = ++last_, .parent = kRootObject, .name = "set-id-directory"});
    add({.kind = OpKind::create,
         .mode = 06777,
         .open_flags = O_RDWR | O_CREAT,
         .object = ++last_,
         .parent = kRootObject,
         .handle = last_,
         .name = "set-id-file"});
    Attr set{.valid = kAttrMode, .mode = 06777};
    add({.kind = OpKind::setattr, .object = last_, .set = &set});
    std::string value(20, '\1');
    for (const char* name : {"security.capability", "trusted.overlay.opaque"})
      add({.kind = OpKind::setxattr, .object = last_, .length = value.size(), .name = name, .data = value});
    add({.kind = OpKind::ioctl, .flags = 0x40086602, .object = last_, .handle = last_});  // FS_IOC_SETFLAGS
    // And such files from before the capture, for the initial image.
    Attr device{.valid = kAttrMode | kAttrRdev, .mode = S_IFCHR | 0666, .rdev = 0x103},
        set_id{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 06777};
    add({.kind = OpKind::lookup, .object = ++last_, .parent = kRootObject, .name = "old-device", .attr = &device});
    add({.kind = OpKind::lookup, .object = ++last_, .parent = kRootObject, .name = "old-set-id", .attr = &set_id});
  }

  // Times, lengths and ids that no system has: programs overflow, run without end or ask for all memory if the reader passes them
  // on.
  void impossible() {
    constexpr uint64_t kHuge = 1ull << 60;
    const ObjectId file = ++last_;
    add({.kind = OpKind::create,
         .mode = 0666,
         .open_flags = O_RDWR | O_CREAT,
         .object = file,
         .parent = kRootObject,
         .handle = file,
         .name = "written"});
    add({.kind = OpKind::write, .object = file, .handle = file, .length = kHuge, .result = kHuge});
    add({.kind = OpKind::getattr, .object = kHuge});
    Attr vast{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0666, .size = INT64_MAX};
    add({.kind = OpKind::lookup, .object = ++last_, .parent = kRootObject, .name = "vast", .attr = &vast});
    const int64_t now = ++time_ * 1000;
    const int64_t to_the_end = INT64_MAX - now;
    writer_.add({.start = now, .duration = to_the_end, .kind = OpKind::statfs, .thread = 1, .object = kRootObject, .who = &who_});
    writer_.add({.start = 9'200'000'000'000'000'000, .kind = OpKind::statfs, .thread = 1, .object = kRootObject, .who = &who_});
  }

  void large() {
    constexpr uint64_t kLength = 128 << 20;
    static ThreadInfo threads[30];
    const ObjectId file = ++last_;
    add({.kind = OpKind::create,
         .mode = 0666,
         .open_flags = O_RDWR | O_CREAT,
         .object = file,
         .parent = kRootObject,
         .handle = file,
         .name = "large"});
    for (ThreadId i = 0; i < std::size(threads); ++i) {
      threads[i] = {.id = 2 + i, .tid = int32_t(11 + i), .pid = 10, .ppid = 1, .command = "large"};
      writer_.add({.start = 1'000'000,
                   .duration = 500,
                   .kind = OpKind::write,
                   .thread = 2 + i,
                   .object = file,
                   .handle = file,
                   .offset = i * kLength,
                   .length = kLength,
                   .result = kLength,
                   .who = &threads[i]});
    }
  }

  void sizes() {
    constexpr uint64_t kHuge = 1ull << 61;
    ObjectId file = ++last_;
    add({.kind = OpKind::create,
         .mode = 0666,
         .open_flags = O_RDWR | O_CREAT,
         .object = file,
         .parent = kRootObject,
         .handle = file,
         .name = "sizes"});
    Attr set{.valid = kAttrSize, .size = kHuge};
    add({.kind = OpKind::setattr, .error = EFBIG, .object = file, .set = &set});
    add({.kind = OpKind::read, .object = file, .handle = file, .length = kHuge, .result = 1});
    add({.kind = OpKind::read, .error = EINVAL, .object = file, .handle = file, .offset = UINT64_MAX, .length = UINT64_MAX});
    add({.kind = OpKind::fallocate, .error = EFBIG, .object = file, .handle = file, .offset = kHuge, .length = kHuge * 3});
    add({.kind = OpKind::copy_file_range,
         .error = EINVAL,
         .object = file,
         .object2 = file,
         .handle = file,
         .handle2 = file,
         .length = kHuge});
    add({.kind = OpKind::getxattr, .error = ENODATA, .object = file, .length = kHuge, .name = "user.x"});
    add({.kind = OpKind::listxattr, .object = file, .length = kHuge});
    add({.kind = OpKind::opendir, .open_flags = O_DIRECTORY, .object = kRootObject, .handle = ++last_});
    add({.kind = OpKind::readdir, .object = kRootObject, .handle = last_, .offset = kHuge, .length = kHuge, .result = kHuge});
    add({.kind = OpKind::write, .error = EFBIG, .object = file, .handle = file, .offset = INT64_MAX, .length = 4});
  }

 private:
  void below(ObjectId object) {
    Attr set{.valid = kAttrMode | kAttrSize | kAttrUid | kAttrMtime, .mode = 0, .uid = 12345, .mtime = 1};
    add({.kind = OpKind::setattr, .object = object, .set = &set});
    set = {.valid = kAttrUid | kAttrMtime, .uid = 12345, .mtime = 1};
    add({.kind = OpKind::setattr, .object = object, .set = &set});
    add({.kind = OpKind::setxattr, .object = object, .length = 1, .name = "user.x", .data = "x"});
    HandleId handle = ++last_;
    add({.kind = OpKind::open, .open_flags = O_RDWR | O_TRUNC, .object = object, .handle = handle});
    add({.kind = OpKind::write, .object = object, .handle = handle, .length = 4, .result = 4});
    add({.kind = OpKind::write, .object = object, .length = 4, .result = 4});
    add({.kind = OpKind::fallocate, .mode = FALLOC_FL_ZERO_RANGE, .object = object, .length = 4});
    ObjectId made = ++last_;
    add({.kind = OpKind::create,
         .mode = 0666,
         .open_flags = O_RDWR | O_CREAT | O_TRUNC,
         .object = made,
         .parent = object,
         .handle = made,
         .name = "canary"});
    add({.kind = OpKind::write, .object = made, .handle = made, .length = 4, .result = 4});
    add({.kind = OpKind::mkdir, .mode = 0777, .object = ++last_, .parent = object, .name = "escaped"});
    add({.kind = OpKind::unlink, .parent = object, .name = "canary"});
    add({.kind = OpKind::rename, .parent = object, .parent2 = kRootObject, .name = "canary", .name2 = "stolen"});
  }

  void add(Op op) {
    op.start = ++time_ * 1000;
    op.duration = 500;
    op.thread = 1;
    op.who = &who_;
    writer_.add(op);
  }

  TraceWriter& writer_;
  const std::string outside_;
  const ThreadInfo who_{.id = 1, .tid = 10, .pid = 10, .ppid = 1, .command = "hostile"};
  ObjectId last_ = kRootObject;
  int64_t time_ = 0;
};

TraceHeader made_up_header() {
  TraceHeader header;
  header.id = "00000000-0000-4000-8000-000000000001";
  header.program = "hostile_trace";
  header.directory = "/nowhere";
  header.mount_source = "127.0.0.1:/captured";
  return header;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && argv[1] == std::string_view("--large")) {
    TraceWriter writer(dup(STDOUT_FILENO), made_up_header());
    Hostile(writer, "").large();
    writer.finish({.clean = true, .reason = "done"});
    return 0;
  }
  if (argc == 2) {
    ByteWriter newer;
    put_section(newer, SectionType::header, "{}", kTraceVersion + 1);
    return fwrite(newer.data(), 1, newer.size(), stdout) == newer.size() ? 0 : 2;
  }
  if (argc != 3) return fprintf(stderr, "hostile_trace: expected FILE OUTSIDE, --large or --newer\n"), 2;
  int fd = open(argv[1], O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return perror(argv[1]), 2;
  try {
    TraceWriter writer(fd, made_up_header());
    Hostile hostile(writer, argv[2]);
    hostile.names();
    hostile.through_symlinks();
    hostile.privileges();
    hostile.sizes();
    hostile.impossible();
    writer.finish({.clean = true, .reason = "done"});
  } catch (const std::exception& e) {
    return fprintf(stderr, "hostile_trace: %s\n", e.what()), 2;
  }
  return 0;
}
