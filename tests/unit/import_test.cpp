// SPDX-License-Identifier: Apache-2.0
#include "import/import.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <deque>

#include "catch.hpp"
#include "clone.hpp"
#include "import/import_text.hpp"
#include "import/import_tree.hpp"
#include "import/op_order.hpp"
#include "import/strace_line.hpp"
#include "imported.hpp"

namespace fsr::import_test {

TEST_CASE("the parser reads all parts of a line of strace") {
  strace::Line line;
  REQUIRE(strace::parse_line("[pid  12] 1700000000.000123 read(3</a,b>, \"x(\\\")\", 10) = 4 <0.000002>", &line));
  CHECK(line.tid == 12);
  CHECK(line.time == 1'700'000'000'000'123'000);
  strace::Call call;
  REQUIRE(strace::parse_call(line.text, &call));
  REQUIRE(call.args.size() == 3);
  CHECK(call.args[0] == "3</a,b>");
  CHECK(call.result == 4);
  CHECK(call.duration == 2000);
  REQUIRE(strace::parse_call("open(\"\\303\\244\\x41\", O_RDONLY) = -1 ENOENT (No such file or directory)", &call));
  CHECK(call.error == ENOENT);
  std::string text;
  bool cut = true;
  REQUIRE(strace::parse_string(call.args[0], &text, &cut));
  CHECK(text == "\303\244A");
  CHECK_FALSE(cut);
  REQUIRE(strace::parse_string("\"ab\"...", &text, &cut));
  CHECK(cut);
  CHECK_FALSE(strace::parse_call("read(3, \"unterminated", &call));
  CHECK_FALSE(strace::parse_line("read(3) = 0", &line));
  CHECK(strace::field("{a={b=1, c=2}, c=3}", "c") == "3");
  CHECK(strace::parse_flags("O_RDWR|O_CREAT|0x1") == (O_RDWR | O_CREAT | 1));
}

TEST_CASE("the strace import joins calls that lines of other processes interrupt, and knows a child before fork returns") {
  Imported i("strace",
             "1 10.000000 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n"
             "2 10.000100 openat(AT_FDCWD, \"f\", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3 <0.000010>\n"
             "1 10.000150 <... clone resumed>) = 2 <0.000150>\n"
             "2 10.000200 write(3, \"abc\", 3 <unfinished ...>\n"
             "1 10.000210 openat(AT_FDCWD, \"g\", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000001>\n"
             "2 10.000300 <... write resumed>) = 3 <0.000100>\n"
             "2 10.000400 +++ exited with 0 +++\n");
  CHECK(i.notes.total(ImportNotes::lost) == 0);
  CHECK(i.notes.total(ImportNotes::changed) == 0);
  const Op& write = i.op(OpKind::write);
  CHECK(write.start == 10'000'200'000);
  CHECK(write.duration == 100'000);
  CHECK(write.result == 3);
  CHECK(write.who->ppid == 1);
  CHECK(i.op(OpKind::create).has(kOpCreated));
  CHECK((i.op(OpKind::create).mode & 07777) == 0644);
  CHECK(i.op(OpKind::lookup).error == ENOENT);
  // The exit of the process closes its open files.
  CHECK(i.op(OpKind::flush).has(kOpInferred));
  CHECK(i.op(OpKind::release).handle == write.handle);
}

TEST_CASE("the strace import knows which descriptors share an offset") {
  Imported i("strace",
             "1 1.0 openat(AT_FDCWD, \"f\", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 <0.1>\n"
             "1 2.0 dup(3) = 4 <0.1>\n"
             "1 3.0 write(3, \"aaaa\", 4) = 4 <0.1>\n"
             "1 4.0 write(4, \"bb\", 2) = 2 <0.1>\n"
             "1 5.0 close(3) = 0 <0.1>\n"
             "1 6.0 lseek(4, 1, SEEK_SET) = 1 <0.1>\n"
             "1 7.0 read(4, \"a\", 1) = 1 <0.1>\n"
             "1 8.0 pread64(4, \"a\", 1, 3) = 1 <0.1>\n"
             "1 9.0 read(4, \"a\", 1) = 1 <0.1>\n"
             "1 10.0 close(4) = 0 <0.1>\n");
  CHECK(i.op(OpKind::write, 1).offset == 4);
  CHECK(i.op(OpKind::read, 0).offset == 1);
  CHECK(i.op(OpKind::read, 1).offset == 3);
  CHECK(i.op(OpKind::read, 2).offset == 2);
  CHECK(i.count(OpKind::flush) == 2);
  CHECK(i.count(OpKind::release) == 1);
}

TEST_CASE("the strace import keeps data that a call moves between the tree and a file elsewhere") {
  Imported i("strace",
             "1 1.0 openat(AT_FDCWD, \"/else/in\", O_RDONLY) = 3 <0.1>\n"
             "1 2.0 openat(AT_FDCWD, \"out\", O_WRONLY|O_CREAT|O_TRUNC, 0600) = 4 <0.1>\n"
             "1 3.0 copy_file_range(3, NULL, 4, NULL, 9223372035781033984, 0) = 2053 <0.1>\n"
             "1 4.0 sendfile(4, 3, [100] => [105], 1000) = 5 <0.1>\n"
             "1 5.0 chmod(\"/proc/self/fd/4\", 0640) = 0 <0.1>\n"
             "1 6.0 rename(\"out\", \"/else/out\") = 0 <0.1>\n");
  CHECK(i.count(OpKind::read) == 0);
  CHECK(i.op(OpKind::write, 0).length == 2053);
  CHECK(i.op(OpKind::write, 1).offset == 2053);
  CHECK(i.op(OpKind::setattr).object == i.op(OpKind::create).object);
  CHECK(i.count(OpKind::rename) == 0);
  CHECK(i.notes.total(ImportNotes::lost) == 1);
}

TEST_CASE("the strace import reads clones of files") {
  Imported i(
      "strace",
      "1 1.0 openat(AT_FDCWD, \"in\", O_RDWR|O_CREAT, 0600) = 3 <0.1>\n"
      "1 2.0 pwrite64(3, \"x\"..., 8192, 0) = 8192 <0.1>\n"
      "1 3.0 openat(AT_FDCWD, \"out\", O_WRONLY|O_CREAT|O_TRUNC, 0600) = 4 <0.1>\n"
      "1 4.0 ioctl(4, BTRFS_IOC_CLONE or FICLONE, 3) = 0 <0.1>\n"
      "1 5.0 ioctl(4, FICLONERANGE, {src_fd=3, src_offset=4096, src_length=4096, dest_offset=8192}) = 0 <0.1>\n"
      "1 6.0 ioctl(4, FICLONERANGE, {src_fd=3, src_offset=4096, src_length=1, dest_offset=8192}) = -1 EINVAL (x) <0.1>\n"
      "1 7.0 ioctl(4, FICLONE, 3) = -1 EOPNOTSUPP (Operation not supported) <0.1>\n"
      "1 8.0 ioctl(4, FICLONERANGE, 0x7ffc0) = 0 <0.1>\n"
      "1 9.0 ioctl(4, FICLONERANGE, {src_fd=3, src_offset=0, src_length=4096, dest_offset=1048576}) = -1 EINVAL (x) <0.1>\n"
      "1 10.0 openat(AT_FDCWD, \"out\", O_WRONLY|O_APPEND) = 5 <0.1>\n"
      "1 11.0 write(5, \"x\", 1) = 1 <0.1>\n"
      "1 12.0 openat(AT_FDCWD, \"long\", O_RDONLY) = 6 <0.1>\n"
      "1 13.0 ioctl(4, FICLONERANGE, {src_fd=6, src_offset=0, src_length=0, dest_offset=0}) = 0 <0.1>\n"
      "1 14.0 write(5, \"x\", 1) = 1 <0.1>\n"
      "1 15.0 openat(AT_FDCWD, \"empty\", O_RDWR|O_CREAT|O_EXCL, 0600) = 7 <0.1>\n"
      "1 16.0 openat(AT_FDCWD, \"copy\", O_WRONLY|O_CREAT|O_EXCL|O_APPEND, 0600) = 8 <0.1>\n"
      "1 17.0 ioctl(8, FICLONE, 7) = 0 <0.1>\n"
      "1 18.0 write(8, \"x\", 1) = 1 <0.1>\n");
  CHECK(i.count(OpKind::copy_file_range) == 6);
  for (unsigned n = 0; n < 3; ++n) {
    CHECK(is_clone(i.op(OpKind::copy_file_range, n)));
    CHECK(i.op(OpKind::copy_file_range, n).object == i.op(OpKind::create, 0).object);
    CHECK(i.op(OpKind::copy_file_range, n).object2 == i.op(OpKind::create, 1).object);
  }
  CHECK(i.op(OpKind::copy_file_range, 0).length == 8192);
  CHECK(i.op(OpKind::copy_file_range, 0).result == 8192);
  CHECK(i.op(OpKind::copy_file_range, 1).offset == 4096);
  CHECK(i.op(OpKind::copy_file_range, 1).offset2 == 8192);
  CHECK(i.op(OpKind::copy_file_range, 1).result == 4096);
  CHECK(i.op(OpKind::copy_file_range, 2).error == EINVAL);
  CHECK(i.op(OpKind::write, 1).offset == 12288);  // a clone that failed leaves the end of the file where it was
  CHECK(!i.op(OpKind::write, 1).has(kOpInferred));
  CHECK(i.op(OpKind::write, 2).has(kOpInferred));  // where a file of unknown length has replaced the content
  CHECK(!i.op(OpKind::write, 3).has(kOpInferred));
  CHECK(i.notes.total(ImportNotes::lost) == 1);
}

TEST_CASE("the strace import reads calls of 32-bit programs and of other architectures") {
  Imported i("strace",
             "strace: [ Process PID=1 runs in 32 bit mode. ]\n"
             "1 1.0 open(\"f\", O_RDWR|O_CREAT|O_EXCL|O_LARGEFILE, 0600) = 3 <0.1>\n"
             "1 2.0 write(3, \"0123456789\", 10) = 10 <0.1>\n"
             "1 3.0 _llseek(3, 4, [4], SEEK_SET) = 0 <0.1>\n"
             "1 4.0 read(3, \"456789\", 100) = 6 <0.1>\n"
             "1 5.0 fstat64(3, {st_mode=S_IFREG|0600, st_size=10, ...}) = 0 <0.1>\n"
             "1 6.0 stat64(\"f\", {st_mode=S_IFREG|0600, st_size=10, ...}) = 0 <0.1>\n"
             "1 7.0 lstat64(\"f\", {st_mode=S_IFREG|0600, st_size=10, ...}) = 0 <0.1>\n"
             "1 8.0 ftruncate64(3, 5) = 0 <0.1>\n"
             "1 9.0 chown32(\"f\", 1, 2) = 0 <0.1>\n"
             "1 10.0 statfs64(\"f\", 84, {f_type=EXT2_SUPER_MAGIC}) = 0 <0.1>\n"
             "1 11.0 fcntl64(3, F_SETFD, FD_CLOEXEC) = 0 <0.1>\n"
             "1 12.0 getuid32() = 0 <0.1>\n"
             "1 13.0 mmap2(NULL, 4096, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0xf7 <0.1>\n");
  CHECK(i.op(OpKind::read).offset == 4);
  CHECK(i.count(OpKind::getattr) == 3);
  CHECK(i.count(OpKind::setattr) == 2);
  CHECK(i.op(OpKind::setattr).set->size == 5);
  CHECK(i.count(OpKind::statfs) == 1);
  CHECK(i.notes.total(ImportNotes::lost) == 0);
}

TEST_CASE("the strace import counts a call whose end is not in the log") {
  Imported i("strace",
             "7 1.000000 openat(AT_FDCWD, \"/w/f\", O_RDONLY) = 3 <0.000010>\n"
             "7 1.000100 read(3,  <unfinished ...>\n"
             "7 1.000200 read(3,  <unfinished ...>\n"
             "7 1.000300 <... read resumed>\"x\", 1) = 1 <0.000010>\n"
             "7 1.000400 read(3,  <unfinished ...>\n"
             "7 1.000500 read(3, \"x\", 1) = 1 <0.000010>\n");
  CHECK(i.count(OpKind::read) == 2);
  CHECK(i.notes.counts[ImportNotes::lost].at("calls whose end the log does not show").count == 2);
}

TEST_CASE("the strace import ends a thread at its exit, as strace -qq does not report more") {
  Imported i("strace",
             "7 1.000000 openat(AT_FDCWD, \"/w/f\", O_RDONLY) = 3 <0.000010>\n"
             "7 1.000100 exit_group(0) = ?\n"
             "8 1.000200 openat(AT_FDCWD, \"/w/f\", O_RDONLY) = 3 <0.000010>\n"
             "8 1.000300 exit(0 <unfinished ...>\n"
             "8 1.000400 <... exit resumed>) = ?\n"
             "7 1.000500 read(3, \"x\", 1) = 1 <0.000010>\n");
  CHECK(i.count(OpKind::release) == 2);
  CHECK(i.count(OpKind::read) == 0);  // of another process with the number of the first
}

TEST_CASE("the strace import names an unknown call on a file") {
  Imported i("strace",
             "1 1.0 openat(AT_FDCWD, \"f\", O_RDONLY) = 3 <0.1>\n"
             "1 2.0 newcall(3, 0x7f) = 0 <0.1>\n"
             "1 3.0 newcall(AT_FDCWD, \"f\", 0) = 0 <0.1>\n"
             "1 4.0 othercall(\"/else\", 3) = 0 <0.1>\n"
             "1 5.0 kill(3, SIGTERM) = 0 <0.1>\n"
             "1 6.0 fadvise64(3, 0, 0, POSIX_FADV_SEQUENTIAL) = 0 <0.1>\n"
             "1 7.0 getcwd(\"/w\", 100) = 3 <0.1>\n");
  CHECK(i.notes.total(ImportNotes::lost) == 2);
  CHECK(i.notes.counts[ImportNotes::lost].count("newcall: an unknown call on a file") == 1);
}

TEST_CASE("the strace import reads all notations of times") {
  auto starts = [](std::string_view log) {
    std::vector<int64_t> out;
    for (const Op& op : Imported("strace", log).batch.ops) out.push_back(op.start / 1000);
    return out;
  };
  using Times = std::vector<int64_t>;  // microseconds
  // -r: time since the previous line of any kind.
  CHECK(
      starts("     0.000000 rmdir(\"a\") = 0 <0.1>\n     0.000200 getpid() = 1 <0.1>\n     1.000030 rmdir(\"b\") = 0 <0.1>\n") ==
      Times{0, 1'000'230});
  CHECK(starts("12         0.000100 rmdir(\"a\") = 0\n12         0.000200 rmdir(\"b\") = 0\n123456      0.000001 rmdir(\"c\") = "
               "0\n") == Times{100, 300, 301});
  CHECK(starts("0.000000 rmdir(\"a\") = 0\n0.000200 rmdir(\"b\") = 0\n0.000200 rmdir(\"c\") = 0\n") == Times{0, 200, 400});
  CHECK(starts("12345 1700000000.5 rmdir(\"a\") = 0\n12    1700000001.5 rmdir(\"b\") = 0\n") ==
        Times{1'700'000'000'500'000, 1'700'000'001'500'000});
  // -tt across midnight; -t; -t -r; with -n, -i and -Y.
  CHECK(starts("23:59:59.9 rmdir(\"a\") = 0\n00:00:00.1 rmdir(\"b\") = 0\n") == Times{86'399'900'000, 86'400'100'000});
  CHECK(starts("00:00:01 rmdir(\"a\") = 0\n00:00:01 rmdir(\"b\") = 0\n00:00:02 rmdir(\"c\") = 0\n") ==
        Times{1'000'000, 1'000'001, 2'000'000});
  CHECK(starts("00:00:01 (+     0.000000) rmdir(\"a\") = 0\n00:00:01 (+     0.000200) rmdir(\"b\") = 0\n") ==
        Times{1'000'000, 1'000'200});
  CHECK(starts("12<sh> 00:00:01.5 [  84] [00007f6658f0bc47] rmdir(\"a\") = 0\n[pid    12<sh>] 00:00:01.6 rmdir(\"b\") = 0\n") ==
        Times{1'500'000, 1'600'000});
  Imported coarse("strace", "00:00:01 rmdir(\"a\") = 0 <0.1>\n");
  CHECK(coarse.notes.total(ImportNotes::changed) == 1);
}

TEST_CASE("the strace import passes over text between and after calls") {
  Imported i("strace",
             "1 00:00:01.0 rmdir(\"a\") = 0 <0.1>\n"
             " > /usr/lib/libc.so.6(rmdir+0x7) [0x1]\n"
             "1 00:00:02.0 --- SIGCHLD {si_signo=SIGCHLD} ---\n"
             "1 00:00:03.0 rmdir(\"b\" <unfinished ...>\n"
             "1 00:00:04.0 <... rmdir resumed>) = -1 ENOENT (Datei oder Verzeichnis nicht gefunden) <1.0>\n"
             "1 00:00:05.0 +++ exited with 0 +++\n"
             "% time     seconds  usecs/call     calls    errors syscall\n"
             "------ ----------- ----------- --------- --------- ----------------\n"
             "100.00    0.001153          15        73        12 total\n");
  CHECK(i.count(OpKind::rmdir) == 2);
  CHECK(i.op(OpKind::rmdir, 1).error == ENOENT);
  CHECK(i.notes.total(ImportNotes::lost) == 0);
  Imported none("strace", "");
  ImportInput timeless("rmdir(\"a\") = 0\n");
  REQUIRE(find_importer("strace")->sniff(timeless.head()));
  CHECK_THROWS_AS(find_importer("strace")->run(timeless, {}, none), ImportError);
}

TEST_CASE("the strace import puts a whiteout in place of the renamed file") {
  Imported i("strace",
             "1 1.0 mkdir(\"d\", 0700) = 0 <0.1>\n"
             "1 2.0 openat(AT_FDCWD, \"d/a\", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 <0.1>\n"
             "1 3.0 renameat2(AT_FDCWD, \"d/a\", AT_FDCWD, \"d/b\", RENAME_WHITEOUT) = 0 <0.1>\n"
             "1 4.0 unlink(\"d/a\") = 0 <0.1>\n");
  CHECK(i.op(OpKind::unlink).object != kNoObject);
  CHECK(i.op(OpKind::unlink).object != i.op(OpKind::create).object);
}

TEST_CASE("the strace import counts facts that the log does not show") {
  Imported i("strace",
             "1 1.0 read(7, \"abc\", 3) = 3 <0.1>\n"
             "1 2.0 openat(AT_FDCWD, \"f\", O_RDONLY) = 3\n"
             "1 3.0 mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3, 0) = 0x7f0000000000 <0.1>\n"
             "1 4.0 write(3, \"abc\n");
  CHECK(i.notes.counts[ImportNotes::lost].size() == 3);
  CHECK(i.notes.counts[ImportNotes::changed].count("calls without a duration (use strace -T)") == 1);
}

TEST_CASE("the import of a fio iolog keeps opens, waits and offsets that go backwards") {
  Imported two("fio-iolog", "fio version 2 iolog\n/w/a add\n/w/a write 0 10\n/w/a wait 5 0\n/w/a read 0 10\n/w/a close\n");
  CHECK(two.op(OpKind::read).start - two.op(OpKind::write).start == 7000);
  CHECK(two.op(OpKind::write).has(kOpInferred));
  CHECK(two.count(OpKind::release) == 1);
  Imported three("fio-iolog", "fio version 3 iolog\n9 /w/a read 0 10\n5 /w/a read 10 10\n/w/a read 0 10\n8 /else read 0 10\n");
  CHECK(three.op(OpKind::read, 1).start == 9000);
  CHECK(three.notes.total(ImportNotes::changed) == 2);
  CHECK(three.notes.total(ImportNotes::lost) == 1);
  CHECK(three.notes.total(ImportNotes::ignored) == 1);
  ImportInput wrong("fio version 9 iolog\n");
  CHECK_THROWS_AS(find_importer("fio-iolog")->run(wrong, {}, three), ImportError);
}

TEST_CASE("overlapping requests of a block trace get different threads") {
  Imported i("msr",
             "128166372003061629,hm,1,Read,0,512,1000\n"
             "128166372003061700,hm,1,Write,512,512,10\n"
             "128166372003063000,hm,1,Read,1024,512,10\n",
             "/");
  REQUIRE(i.count(OpKind::read) == 2);
  CHECK(i.op(OpKind::read, 0).thread != i.op(OpKind::write).thread);
  CHECK(i.op(OpKind::read, 1).thread == i.op(OpKind::read, 0).thread);
  CHECK(i.op(OpKind::read, 0).duration == 100'000);
  CHECK(i.op(OpKind::read, 0).start == 1'172'163'600'306'162'900);
  CHECK(i.op(OpKind::release).start == i.op(OpKind::read, 1).end());
}

TEST_CASE("disks of several hosts in a block trace are different processes") {
  Imported i("msr",
             "128166372003061629,usr,0,Read,0,512,1000\n"
             "128166372003071629,src1,0,Read,0,512,1000\n",
             "/");
  REQUIRE(i.count(OpKind::read) == 2);
  CHECK(i.op(OpKind::read, 0).who->pid != i.op(OpKind::read, 1).who->pid);
  CHECK(i.op(OpKind::read, 1).who->command == "src1.0");
}

TEST_CASE("the import of a LoggedFS log reads dates, and guesses midnight without") {
  constexpr int64_t kHour = 3600'000'000'000;
  const std::string rest = " (src/loggedfs.cpp:136) getattr /w/a {SUCCESS} [ pid = 8700 kded uid = 1000 ]\n";
  Imported dated("loggedfs", "2019-01-01 23:00:00,123" + rest + "2019/01/03 22:00:00,123" + rest + "22:00:01,123" + rest);
  REQUIRE(dated.count(OpKind::getattr) == 3);
  CHECK(dated.op(OpKind::getattr).start == 1'546'383'600'123'000'000);
  CHECK(dated.op(OpKind::getattr, 1).start - dated.op(OpKind::getattr).start == 47 * kHour);
  CHECK(dated.op(OpKind::getattr, 2).start - dated.op(OpKind::getattr, 1).start == 1'000'000'000);
  Imported bare("loggedfs", "23:00:00" + rest + "2:00:00" + rest + "02:00:00" + rest + "2019-02-30 03:00:00" + rest);
  REQUIRE(bare.count(OpKind::getattr) == 3);
  CHECK(bare.op(OpKind::getattr).start == 23 * kHour);
  CHECK(bare.op(OpKind::getattr, 1).start == 26 * kHour);
  CHECK(bare.op(OpKind::getattr, 2).start == 27 * kHour);
}

TEST_CASE("the import sorts operations within a window") {
  std::vector<int64_t> seen;
  OpOrder order(2, [&](const Op& op) { seen.push_back(op.start); });
  const std::string name = "n";
  for (int64_t start : {5, 3, 4, 9}) CHECK(order.add({.start = start, .duration = 2, .kind = OpKind::lookup}));
  CHECK_FALSE(order.add({.start = 1, .duration = 9}));
  order.finish();
  CHECK(seen == std::vector<int64_t>{3, 4, 4, 5, 9});
}

TEST_CASE("a path follows known symbolic links, and never goes in circles") {
  ImportTree tree("/w");
  const NodeId dir = tree.make(tree.directory(), "dir", S_IFDIR);
  const NodeId link = tree.make(tree.directory(), "link", S_IFLNK);
  tree.node(link).target = "dir";
  CHECK(tree.find(tree.directory(), "link", true, true).node == dir);
  CHECK(tree.find(tree.directory(), "link", false, true).node == link);
  CHECK(tree.find(tree.directory(), "link/..", true, true).node == tree.directory());
  CHECK(tree.find(kTopNode, "w/./link//x", true, true).parent == dir);
  tree.bind(tree.directory(), "dir", dir);
  CHECK(tree.find(tree.directory(), "dir", true, true).node == dir);
  tree.node(link).target = "link";
  CHECK(tree.find(tree.directory(), "link/x", true, true).bad);
  CHECK(tree.find(tree.directory(), "none/x", true, false).early);
  CHECK_FALSE(tree.inside(tree.find(tree.directory(), "/else", true, true).parent));
}

}  // namespace fsr::import_test
