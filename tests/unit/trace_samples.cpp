// SPDX-License-Identifier: Apache-2.0
#include "trace_samples.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <stdexcept>

#include "trace/op_limits.hpp"
#include "trace/open_flags.hpp"

namespace fsr {

TraceHeader sample_header(uint32_t clock_unit) {
  TraceHeader h;
  h.id = "5f0c7a52-3a43-4b9e-8a86-0f2d1a6b6c11";
  h.epoch = 1'700'000'000'123'456'789;
  h.clock_unit = clock_unit;
  h.program = "test 1.0";
  h.host = "host";
  h.kernel = "6.1.0";
  h.directory = "/srv/\xff";
  h.mount_source = "server:/export";
  h.mount_type = "nfs";
  h.mount_options = "rw,vers=3";
  h.command = "make -j2";
  h.visibility = "every call";
  h.nfs.mountstats = "opts:\trw\n";
  h.not_seen = {"1234 postgres"};
  return h;
}

int memory_file() {
  int fd = memfd_create("trace", MFD_CLOEXEC);
  if (fd < 0) throw std::runtime_error("memfd_create");
  return fd;
}

std::string contents(int fd) {
  struct stat st;
  if (fstat(fd, &st) < 0) throw std::runtime_error("fstat");
  std::string s(size_t(st.st_size), '\0');
  if (pread(fd, s.data(), s.size(), 0) != ssize_t(s.size())) throw std::runtime_error("pread");
  return s;
}

int file_with(std::string_view bytes) {
  int fd = memory_file();
  if (pwrite(fd, bytes.data(), bytes.size(), 0) != ssize_t(bytes.size())) throw std::runtime_error("pwrite");
  return fd;
}

OpBatch every_kind() {
  OpBatch b;
  static const ThreadInfo make{.id = 1, .tid = 101, .pid = 100, .ppid = 1, .start_ticks = 5000, .command = "make"};
  static const ThreadInfo cc{
      .id = 2, .client = 3, .tid = 202, .pid = 200, .ppid = 100, .start_ticks = 6000, .command = "cc1 \x01"};
  int64_t now = 0;
  auto attr = [&](uint64_t size, uint32_t mode) {
    Attr* a = b.arena.make<Attr>();
    a->valid = kAttrMode | kAttrUid | kAttrGid | kAttrSize | kAttrNlink | kAttrAtime | kAttrMtime | kAttrCtime | kAttrBlocks;
    a->mode = mode;
    a->uid = 1000;
    a->gid = 100;
    a->size = size;
    a->nlink = 1;
    a->blocks = (size + 511) / 512;
    a->atime = a->mtime = a->ctime = 1'700'000'000'000'000'000 + now;
    return a;
  };
  auto add = [&](Op op) {
    op.start = now;
    op.duration = 4321 + now % 7;
    now += 10'007;
    if (!op.thread) op.thread = 1;
    op.who = op.thread == 1 ? &make : &cc;
    op.uid = 1000;
    op.gid = 100;
    b.ops.push_back(copy_op(op, b.arena));
  };
  using K = OpKind;
  add({.kind = K::statfs, .object = 1});
  add({.kind = K::mkdir, .mode = 0755, .object = 2, .parent = 1, .name = "dir", .attr = attr(4096, S_IFDIR | 0755)});
  add({.kind = K::lookup, .error = ENOENT, .parent = 2, .name = "file"});
  add({.kind = K::create,
       .op_flags = kOpCreated,
       .mode = 0644,
       .open_flags = O_RDWR | O_CREAT,
       .object = 3,
       .parent = 2,
       .handle = 1,
       .name = "file",
       .attr = attr(0, S_IFREG | 0644)});
  add({.kind = K::write, .object = 3, .handle = 1, .length = 4096, .result = 4096});
  add({.kind = K::write, .object = 3, .handle = 1, .offset = 4096, .length = 4096, .result = 4096});
  add({.kind = K::write,
       .op_flags = kOpAppend | kOpData,
       .object = 3,
       .handle = 1,
       .offset = 8192,
       .length = 5,
       .result = 5,
       .data = "hello"});
  add({.kind = K::read, .thread = 2, .object = 3, .handle = 1, .length = 65536, .result = 8197});
  add({.kind = K::read, .thread = 2, .object = 3, .handle = 1, .offset = 8197, .length = 65536, .result = 0});
  add({.kind = K::fallocate, .mode = 1, .object = 3, .handle = 1, .offset = 1 << 20, .length = 4096});
  add({.kind = K::lseek, .mode = SEEK_DATA, .object = 3, .handle = 1, .offset = 100, .result = 100});
  add({.kind = K::getlk, .mode = F_WRLCK, .object = 3, .handle = 1, .offset = 5, .length = 10, .owner = 0xfeedfacecafebeef});
  add({.kind = K::setlk,
       .op_flags = kOpWait,
       .mode = F_WRLCK,
       .object = 3,
       .handle = 1,
       .offset = 5,
       .length = 10,
       .owner = 0xfeedfacecafebeef});
  add({.kind = K::flock, .mode = 2, .object = 3, .handle = 1, .owner = 7});
  add({.kind = K::fsync, .flags = 1, .object = 3, .handle = 1});
  add({.kind = K::getattr, .object = 3, .handle = 1, .attr = attr(8197, S_IFREG | 0644)});
  add({.kind = K::statx, .flags = 0x7ff, .object = 3, .attr = attr(8197, S_IFREG | 0644)});
  Attr set{
      .valid = kAttrMode | kAttrUid | kAttrSize | kAttrMtime | kAttrAtimeNow, .mode = 0600, .uid = 5, .size = 10, .mtime = -5};
  add({.kind = K::setattr, .object = 3, .set = &set, .attr = attr(10, S_IFREG | 0600)});
  add({.kind = K::access, .error = EACCES, .mode = 4, .object = 3});
  add({.kind = K::open, .open_flags = O_RDONLY, .object = 3, .handle = 2});
  add({.kind = K::copy_file_range,
       .object = 3,
       .object2 = 3,
       .handle = 1,
       .handle2 = 2,
       .offset = 1,
       .offset2 = 100,
       .length = 50,
       .result = 9});
  add({.kind = K::ioctl, .error = ENOTTY, .flags = 0x5401, .object = 3, .handle = 2});
  add({.kind = K::flush, .object = 3, .handle = 2, .owner = 9});
  add({.kind = K::release, .op_flags = kOpKernel, .object = 3, .handle = 2});
  add({.kind = K::release, .op_flags = kOpKernel, .object = 3, .handle = 1});
  add({.kind = K::symlink, .object = 4, .parent = 2, .name = "link", .data = "../\xff target", .attr = attr(10, S_IFLNK | 0777)});
  add({.kind = K::readlink, .object = 4, .data = "../\xff target"});
  add({.kind = K::mknod,
       .mode = S_IFIFO | 0600,
       .flags = 0,
       .object = 5,
       .parent = 2,
       .name = "pipe",
       .attr = attr(0, S_IFIFO | 0600)});
  add({.kind = K::link, .object = 3, .parent2 = 2, .name2 = "hard", .attr = attr(10, S_IFREG | 0600)});
  add({.kind = K::rename, .flags = 1, .object = 3, .parent = 2, .parent2 = 1, .name = "hard", .name2 = "moved \n"});
  add({.kind = K::opendir, .open_flags = O_DIRECTORY, .object = 2, .handle = 3});
  DirEntry entries[] = {{".", 2, S_IFDIR}, {"..", 1, S_IFDIR}, {"file", 3, S_IFREG}, {"link", 4, S_IFLNK}, {"stranger", 77, 0}};
  add({.kind = K::readdir, .object = 2, .handle = 3, .length = 32768, .result = 5, .entries = entries});
  add({.kind = K::readdirplus, .object = 2, .handle = 3, .offset = 0x7fffffffffffffff, .length = 32768});
  add({.kind = K::fsyncdir, .object = 2, .handle = 3});
  add({.kind = K::releasedir, .object = 2, .handle = 3});
  add({.kind = K::setxattr, .flags = 1, .object = 3, .length = 3, .name = "user.a", .data = "abc"});
  add({.kind = K::getxattr, .object = 3, .length = 0, .result = 3, .name = "user.a"});
  add({.kind = K::listxattr, .object = 3, .length = 100, .result = 7, .data = std::string_view("user.a\0", 7)});
  add({.kind = K::removexattr, .object = 3, .name = "user.a"});
  add({.kind = K::tmpfile,
       .mode = 0600,
       .open_flags = O_RDWR | O_TMPFILE,
       .object = 6,
       .parent = 2,
       .handle = 4,
       .attr = attr(0, S_IFREG | 0600)});
  add({.kind = K::rmdir, .error = ENOTEMPTY, .parent = 1, .name = "dir"});
  add({.kind = K::unlink, .object = 3, .parent = 2, .name = "file"});
  add({.kind = K::syncfs, .object = 1});
  add({.kind = K::null});
  return b;
}

OpBatch random_ops(unsigned seed, size_t count) {
  OpBatch b;
  std::mt19937_64 rng(seed);
  auto chance = [&](unsigned one_in) { return rng() % one_in == 0; };
  auto number = [&] { return rng() >> (16 + rng() % 48); };  // up to kMostId
  auto name = [&] { return b.arena.copy("n" + std::to_string(rng() % 50) + std::string(rng() % 20, 'x')); };
  auto attr = [&] {
    Attr* a = b.arena.make<Attr>();
    a->valid = uint32_t(rng() & 0x7ff);
    if (a->valid & kAttrMode) a->mode = uint32_t(rng());
    if (a->valid & kAttrUid) a->uid = uint32_t(rng() % 3);
    if (a->valid & kAttrGid) a->gid = uint32_t(rng() % 3);
    if (a->valid & kAttrSize) a->size = number();
    if (a->valid & kAttrNlink) a->nlink = number();
    if (a->valid & kAttrBlocks) a->blocks = number();
    if (a->valid & kAttrRdev) a->rdev = number();
    if (a->valid & kAttrAtime) a->atime = int64_t(number());
    if (a->valid & kAttrMtime) a->mtime = int64_t(rng() % 4);
    if (a->valid & kAttrCtime) a->ctime = int64_t(rng());
    if (a->valid & kAttrBtime) a->btime = int64_t(number());
    return a;
  };
  int64_t now = 0;
  for (size_t i = 0; i < count; ++i) {
    Op op;
    op.kind = OpKind(rng() % kOpKinds);
    now += int64_t(number() % 1'000'000);
    op.start = chance(50) ? now - int64_t(rng() % 5000) : now;
    op.duration = int64_t(number() >> 8);
    op.thread = ThreadId(rng() % 5);
    if (op.thread && op.thread != 4) {
      ThreadInfo* who = b.arena.make<ThreadInfo>();
      *who = {.id = op.thread, .tid = int32_t(op.thread * 7), .pid = int32_t(op.thread), .command = chance(9) ? "exec" : "sh"};
      op.who = who;
    }
    op.uid = uint32_t(rng() % 2);
    op.gid = uint32_t(rng() % 2);
    if (chance(3)) op.error = int32_t(rng() % 40);
    if (chance(3)) op.op_flags = uint16_t(rng() & (0x7f & ~kOpUnfinished));
    if (chance(3)) op.mode = uint32_t(number());
    if (chance(5)) op.flags = uint32_t(number());
    if (chance(5)) op.open_flags = uint32_t(number());
    op.object = chance(4) ? number() : rng() % 30;
    op.parent = rng() % 10;
    if (chance(4)) op.parent2 = rng() % 10;
    if (chance(4)) op.object2 = rng() % 10;
    op.handle = chance(3) ? number() : i / 10;
    if (chance(8)) op.handle2 = rng() % 10;
    op.offset = chance(3) ? number() : rng() % 4 * 4096;
    if (chance(8)) op.offset2 = number();
    op.length = chance(3) ? number() : 4096;
    op.result = chance(3) ? number() : op.length;
    if (chance(8)) op.owner = rng();
    op.name = name();
    op.name2 = name();
    if (chance(6)) op.data = b.arena.copy(std::string(rng() % 100, char(1 + rng() % 255)));
    if (chance(6)) {
      size_t n = rng() % 9;
      DirEntry* e = b.arena.make<DirEntry>(n);
      for (size_t k = 0; k < n; ++k) e[k] = {name(), number(), uint32_t(rng() % 16) << 12};
      op.entries = {e, n};
    }
    if (chance(6)) {
      Attr* a = attr();
      a->valid &= kAttrMode | kAttrUid | kAttrGid | kAttrSize | kAttrAtime | kAttrMtime | kAttrCtime | kAttrBtime;
      Attr kept{.valid = a->valid, .mode = a->mode, .uid = a->uid, .gid = a->gid, .size = a->size};
      kept.atime = a->atime, kept.mtime = a->mtime, kept.ctime = a->ctime, kept.btime = a->btime;
      *a = kept;
      op.set = a;
    }
    if (chance(3)) op.attr = attr();
    if (op.kind == OpKind::read || op.kind == OpKind::write) op.length %= kMostTransfer;
    if (impossible_part(op)) op.error = EIO;  // a failed operation may have asked for anything
    b.ops.push_back(op);
  }
  return b;
}

static int64_t down(int64_t ns, int64_t unit) { return (ns / unit - (ns % unit < 0)) * unit; }

Op rounded(const Op& op, uint32_t unit) {
  Op out = op;
  out.start = down(op.start, unit);
  out.duration = down(op.start + op.duration, unit) - out.start;
  return out;
}

static std::string describe(const char* what, const Attr* a) {
  if (!a) return "";
  return fmt::format(" {}={:x}/{:o}/{}/{}/{}/{}/{}/{}/{}/{}/{}/{}", what, a->valid, a->mode, a->uid, a->gid, a->size, a->nlink,
                     a->blocks, a->rdev, a->atime, a->mtime, a->ctime, a->btime);
}

std::string describe(const Op& o) {
  std::string s = fmt::format(
      "{} {}+{} {} f{:x} e{} t{} {}:{} m{:o} F{:x} O{:x} o{} p{} p{} o{} h{} h{} @{} @{} l{} r{} w{:x} '{}' '{}' '{}'", o.seq,
      o.start, o.duration, op_name(o.kind), o.op_flags, o.error, o.thread, o.uid, o.gid, o.mode, o.flags,
      trace_open_flags(o.open_flags), o.object, o.parent, o.parent2, o.object2, o.handle, o.handle2, o.offset, o.offset2,
      o.length, o.result, o.owner, o.name, o.name2, o.data);
  for (const BlockPrint& b : o.blocks) s += fmt::format(" <{:x} {}>", b.hash, b.level);
  for (const DirEntry& e : o.entries) s += fmt::format(" [{} {} {:o}]", e.name, e.ino, e.type);
  s += describe("set", o.set) + describe("attr", o.attr);
  if (o.who)
    s += fmt::format(" who {}/{}/{}/{}/{}/{}", o.who->client, o.who->tid, o.who->pid, o.who->ppid, o.who->start_ticks,
                     o.who->command);
  return s;
}

}  // namespace fsr
