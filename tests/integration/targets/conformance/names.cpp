// SPDX-License-Identifier: Apache-2.0
// Conformance of targets: names, directories, attributes.
#include <linux/fs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <initializer_list>
#include <string_view>
#include <tuple>

#include "case.hpp"

namespace fsr {
namespace {

void names(Case& c) {
  ObjectId dir = c.mkdir(c.top, "dir", 0750), found = Driver::new_object();
  require((c.getattr(dir).mode & (S_IFMT | 0777)) == (S_IFDIR | 0750), "a directory's mode is not what mkdir gave it");
  auto file = c.create(dir, "file", 0640);
  require((c.getattr(file.object).mode & (S_IFMT | 0777)) == (S_IFREG | 0640), "a file's mode is not what create gave it");
  c.lookup(dir, "file", found);
  c.lookup(dir, "nothing", 0, ENOENT);
  c.expect({.kind = OpKind::lookup, .parent = file.object, .name = "below"}, {ENOTDIR});
  std::string long_name(256, 'n');
  c.expect({.kind = OpKind::mkdir, .mode = 0755, .object = Driver::new_object(), .parent = dir, .name = long_name},
           {ENAMETOOLONG});
  c.expect({.kind = OpKind::mkdir, .mode = 0755, .object = Driver::new_object(), .parent = c.top, .name = "dir"}, {EEXIST});
  c.expect({.kind = OpKind::create,
            .mode = 0644,
            .open_flags = O_RDWR | O_CREAT | O_EXCL,
            .object = Driver::new_object(),
            .parent = dir,
            .handle = Driver::new_handle(),
            .name = "file"},
           {EEXIST});
  HandleId again = Driver::new_handle();
  c.ok({.kind = OpKind::create,
        .mode = 0644,
        .open_flags = O_RDWR | O_CREAT,
        .object = file.object,
        .parent = dir,
        .handle = again,
        .name = "file"});
  c.close({file.object, again});
  c.expect({.kind = OpKind::rmdir, .object = dir, .parent = c.top, .name = "dir"}, {ENOTEMPTY, EEXIST});
  c.expect({.kind = OpKind::rmdir, .object = file.object, .parent = dir, .name = "file"}, {ENOTDIR});
  c.expect({.kind = OpKind::unlink, .object = dir, .parent = c.top, .name = "dir"}, {EISDIR, EPERM});
  c.close(file);
  c.ok({.kind = OpKind::unlink, .object = file.object, .parent = dir, .name = "file"});
  c.lookup(dir, "file", 0, ENOENT);
  c.ok({.kind = OpKind::rmdir, .object = dir, .parent = c.top, .name = "dir"});
  c.expect({.kind = OpKind::unlink, .parent = c.top, .name = "dir"}, {ENOENT});
}

void odd_names(Case& c) {
  std::string longest(255, 'x');
  for (std::string_view name : {std::string_view(longest), std::string_view("\xff\xfe"), std::string_view("new\nline"),
                                std::string_view(" "), std::string_view("-rf"), std::string_view("...")}) {
    if (!c.d.can({.kind = OpKind::create, .parent = c.top, .name = name})) continue;
    auto f = c.create(c.top, name);
    c.close(f);
    c.lookup(c.top, name, f.object);
    // Netatalk looks for a file "._NAME" to remove, too, and fails where that is too long.
    const Op unlink{.kind = OpKind::unlink, .object = f.object, .parent = c.top, .name = name};
    if (c.d.exact(unlink) || name.size() <= 253)
      c.ok(unlink);
    else
      c.expect(unlink, {0, EINVAL});
  }
}

void unsafe_names(Case& c) {
  for (std::string_view name : {std::string_view(".."), std::string_view("."), std::string_view(""), std::string_view("a/b"),
                                std::string_view("../out"), std::string_view("/out"), std::string_view("a\0b", 3)}) {
    Answer a = c.d.perform({.kind = OpKind::mkdir, .mode = 0755, .object = Driver::new_object(), .parent = c.top, .name = name});
    require(a.error != 0, fmt::format("mkdir of a name of {} bytes with a special meaning succeeded", name.size()));
  }
}

void attributes(Case& c) {
  auto f = c.create(c.top, "file");
  c.close(f);
  Attr set{.valid = kAttrMode, .mode = 0751};
  require((c.set_and_get(f.object, set).mode & 07777) == 0751, "chmod is not seen");
  set = {.valid = kAttrAtime | kAttrMtime, .atime = 1'000'000'000'500'000'000, .mtime = 1'234'567'890'000'000'000};
  Attr now = c.set_and_get(f.object, set);
  require(now.mtime == set.mtime, "the time of modification that was set is not seen");
  if (c.d.exact({.kind = OpKind::setattr, .object = f.object, .set = &set}))
    require(now.atime / 1'000'000'000 == set.atime / 1'000'000'000, "the time of access that was set is not seen");
  set = {.valid = kAttrMtime | kAttrMtimeNow};
  require(c.set_and_get(f.object, set).mtime > 1'234'567'890'000'000'000, "setting the time of now did nothing");
  set = {.valid = kAttrUid | kAttrGid, .uid = 1234, .gid = 2345};
  if (geteuid() == 0 && c.d.exact({.kind = OpKind::setattr, .object = f.object, .set = &set})) {
    now = c.set_and_get(f.object, set);
    require(now.uid == 1234 && now.gid == 2345, "owner that was set is not seen");
  }
  Op access{.kind = OpKind::access, .mode = R_OK, .object = f.object};
  if (c.d.can(access)) c.ok(access);
}

void links(Case& c) {
  auto f = c.create(c.top, "first");
  c.write(f, 0, "content");
  c.close(f);
  Op link{.kind = OpKind::link, .object = f.object, .parent2 = c.top, .name2 = "second"};
  if (!c.d.can(link)) return;
  c.ok(link);
  // A copy, or a protocol that tells no link count.
  const bool counted = c.d.exact(link) && (c.getattr(f.object).valid & kAttrNlink);
  require(!counted || c.getattr(f.object).nlink == 2, "link count is not 2");
  c.expect(link, {EEXIST});
  c.ok({.kind = OpKind::unlink, .object = f.object, .parent = c.top, .name = "first"});
  require(!counted || c.getattr(f.object).nlink == 1, "link count is not 1 again");
  HandleId h = c.open(f.object, O_RDONLY);
  require(c.read({f.object, h}, 0, 100) == "content", "content is not reached through the second name");
  c.close({f.object, h});
  ObjectId dir = c.mkdir(c.top, "dir");
  c.expect({.kind = OpKind::link, .object = dir, .parent2 = c.top, .name2 = "third"}, {EPERM, EISDIR, EINVAL});
}

// rename(2) of one name of a file to another does nothing.
void links_renamed(Case& c) {
  auto f = c.create(c.top, "first");
  c.write(f, 0, "content");
  c.close(f);
  Op link{.kind = OpKind::link, .object = f.object, .parent2 = c.top, .name2 = "second"};
  if (!c.d.can(link)) return;
  c.ok(link);
  c.ok(c.rename_op(c.top, "first", c.top, "second", f.object, f.object));
  c.ok({.kind = OpKind::unlink, .object = f.object, .parent = c.top, .name = "second"});
  HandleId h = c.open(f.object, O_RDONLY);
  require(c.read({f.object, h}, 0, 100) == "content", "content is not reached through the first name");
  c.close({f.object, h});
  c.ok({.kind = OpKind::unlink, .object = f.object, .parent = c.top, .name = "first"});
}

void symlinks(Case& c) {
  const std::string longest(3500, 'x');  // a path is a page less one byte at most
  for (std::string_view to : {std::string_view("/etc/passwd"), std::string_view("../../..\xff"), std::string_view(longest)}) {
    ObjectId id = Driver::new_object();
    Op link{.kind = OpKind::symlink, .object = id, .parent = c.top, .name = "link", .data = to};
    if (!c.d.can(link)) return;
    c.ok(link);
    Answer a = c.ok({.kind = OpKind::readlink, .object = id});
    require(a.data == to, "readlink differs from what symlink was given");
    if (c.d.exact(link)) require(S_ISLNK(c.getattr(id).mode), "a symlink is not one");
    c.expect({.kind = OpKind::lookup, .parent = id, .name = "below"}, {ENOTDIR, ELOOP});
    c.expect({.kind = OpKind::symlink, .object = Driver::new_object(), .parent = c.top, .name = "link", .data = to}, {EEXIST});
    c.ok({.kind = OpKind::unlink, .object = id, .parent = c.top, .name = "link"});
  }
}

void special_files(Case& c) {
  for (uint32_t type : {S_IFREG, S_IFIFO, S_IFSOCK}) {
    Op op{.kind = OpKind::mknod, .mode = type | 0600, .object = Driver::new_object(), .parent = c.top};
    std::string name = std::to_string(type);
    op.name = name;
    if (!c.d.can(op)) continue;
    c.ok(op);
    require((c.getattr(op.object).mode & S_IFMT) == type, "mknod made another type");
    c.ok({.kind = OpKind::unlink, .object = op.object, .parent = c.top, .name = name});
  }
}

// For targets that need no lookup before an open.
void opens_by_name(Case& c) {
  if (!c.d.opens_by_name()) return;
  auto error_of = [&c](std::string_view name, uint32_t flags = O_RDONLY) {
    const HandleId handle = Driver::new_handle();
    const Answer answer =
        c.d.perform({.kind = OpKind::open, .open_flags = flags, .parent = c.top, .handle = handle, .name = name});
    if (answer.error == 0) {
      require(c.read({kNoObject, handle}, 0, 10) == "content", "a file that was opened by name has other content");
      require(c.getattr(kNoObject, handle).size == 7, "a file that was opened by name has another size");
      c.close({kNoObject, handle});
    }
    return answer.error;
  };
  auto file = c.create(c.top, "file");
  c.write(file, 0, "content");
  c.close(file);
  c.mkdir(c.top, "dir");
  c.ok({.kind = OpKind::mknod, .mode = S_IFIFO | 0600, .object = Driver::new_object(), .parent = c.top, .name = "pipe"});
  c.ok({.kind = OpKind::symlink, .object = Driver::new_object(), .parent = c.top, .name = "link", .data = "file"});
  for (const auto& [name, flags, error] :
       std::initializer_list<std::tuple<const char*, uint32_t, int>>{{"file", O_RDONLY, 0},
                                                                     {"file", O_RDWR, 0},
                                                                     {"nothing", O_RDONLY, ENOENT},
                                                                     {"dir", O_RDONLY, ENXIO},
                                                                     {"pipe", O_RDONLY, ENXIO},
                                                                     {"pipe", O_WRONLY, ENXIO},
                                                                     {"pipe", O_RDWR, ENXIO},
                                                                     {"link", O_RDONLY, ELOOP},
                                                                     {"../file", O_RDONLY, EINVAL}}) {
    const int found = error_of(name, flags);
    require(found == error, fmt::format("to open {} by name gave {}, not {}", name, error_text(found), error_text(error)));
  }
  c.lookup(c.top, "file", file.object);  // it still has its identity
  c.ok({.kind = OpKind::unlink, .object = file.object, .parent = c.top, .name = "file"});
}

// For protocols that rename within a directory only.
void rename_within(Case& c, ObjectId dir, Case::File file) {
  c.ok(c.rename_op(dir, "other", dir, "new", file.object));
  c.lookup(dir, "other", 0, ENOENT);
  auto replaced = c.create(dir, "old");
  c.close(replaced);
  c.ok(c.rename_op(dir, "new", dir, "old", file.object, replaced.object));
  HandleId h = c.open(file.object, O_RDONLY);
  require(c.read({file.object, h}, 0, 9) == "g", "the name leads to another file than the one moved there");
  c.close({file.object, h});
}

void renames(Case& c) {
  ObjectId a = c.mkdir(c.top, "a"), b = c.mkdir(c.top, "b"), deep = c.mkdir(a, "deep");
  auto f = c.create(deep, "file"), g = c.create(b, "other");
  c.write(f, 0, "f");
  c.write(g, 0, "g");
  c.close(f);
  c.close(g);
  c.expect(c.rename_op(b, "nothing", b, "x", 0), {ENOENT});
  if (!c.d.can(c.rename_op(c.top, "a", b, "a", a))) return rename_within(c, b, g);
  c.expect(c.rename_op(c.top, "a", deep, "inside", a), {EINVAL});
  c.expect(c.rename_op(c.top, "b", c.top, "a", b, a), {ENOTEMPTY, EEXIST});
  c.expect(c.rename_op(b, "other", c.top, "a", g.object, a), {EISDIR, EEXIST});
  HandleId h = c.open(g.object, O_RDONLY);
  Op refused = c.rename_op(c.top, "a", b, "other", a, g.object);
  refused.error = ENOTDIR;  // as recorded: the open file keeps its name
  c.expect(refused, {ENOTDIR, EEXIST});
  c.lookup(b, "other", g.object);
  c.close({g.object, h});
  c.ok(c.rename_op(c.top, "a", b, "moved", a));
  h = c.open(f.object, O_RDONLY);
  require(c.read({f.object, h}, 0, 9) == "f", "a file is not reached after the directory above it moved");
  c.ok(c.rename_op(b, "other", deep, "file", g.object, f.object));
  require(c.read({f.object, h}, 0, 9) == "f", "a replaced file is not readable through its handle");
  c.close({f.object, h});
  h = c.open(g.object, O_RDONLY);
  require(c.read({g.object, h}, 0, 9) == "g", "the name leads to another file than the one moved there");
  c.close({g.object, h});
  c.lookup(b, "other", 0, ENOENT);
  ObjectId empty = c.mkdir(c.top, "empty"), target = c.mkdir(c.top, "target");
  c.ok(c.rename_op(c.top, "empty", c.top, "target", empty, target));
  c.lookup(c.top, "empty", 0, ENOENT);
}

void rename_flags(Case& c) {
  auto f = c.create(c.top, "f"), g = c.create(c.top, "g");
  c.write(f, 0, "f");
  c.write(g, 0, "g");
  Op keep = c.rename_op(c.top, "f", c.top, "g", f.object, g.object, RENAME_NOREPLACE);
  if (c.d.can(keep)) {
    c.expect(keep, {EEXIST});
    c.ok(c.rename_op(c.top, "f", c.top, "h", f.object, 0, RENAME_NOREPLACE));
    c.ok(c.rename_op(c.top, "h", c.top, "f", f.object, 0, RENAME_NOREPLACE));
  }
  Op swap = c.rename_op(c.top, "f", c.top, "g", f.object, g.object, RENAME_EXCHANGE);
  if (c.d.can(swap)) {
    c.ok(swap);
    HandleId h = c.open(f.object, O_RDONLY);  // through its new name
    require(c.read({f.object, h}, 0, 9) == "f", "an exchange mixed the files up");
    c.close({f.object, h});
    c.expect(c.rename_op(c.top, "f", c.top, "nothing", g.object, 0, RENAME_EXCHANGE), {ENOENT});
  }
  c.close(f);
  c.close(g);
}

void big_directory(Case& c) {
  constexpr int kFiles = 10'000;
  std::set<std::string> expected;
  for (int i = 0; i < kFiles; ++i) {
    std::string name = fmt::format("entry-{}-{}", i, std::string(size_t(i) % 40, 'p'));
    ObjectId id = Driver::new_object();
    if (i % 2 || !c.d.exact({.kind = OpKind::symlink, .parent = c.top, .name = name, .data = "x"})) {
      c.ok({.kind = OpKind::mknod, .mode = S_IFREG | 0644, .object = id, .parent = c.top, .name = name});
    } else {
      c.ok({.kind = OpKind::symlink, .object = id, .parent = c.top, .name = name, .data = "x"});
    }
    expected.insert(name);
  }
  for (OpKind kind : {OpKind::readdir, OpKind::readdirplus}) {
    HandleId h = c.open(c.top, O_RDONLY | O_DIRECTORY, OpKind::opendir);
    std::set<std::string> seen;
    uint64_t cursor = 0, batches = 0;
    for (;;) {
      Answer a = c.ok({.kind = kind, .object = c.top, .handle = h, .offset = cursor, .length = 4096, .result = 50});
      if (a.names.empty()) break;
      require(a.result == a.names.size() && a.names.size() <= 50, "a readdir returned more entries than asked for");
      for (const std::string& name : a.names) require(seen.insert(name).second, "an entry came twice: " + name);
      cursor = 1'000'003 * ++batches;  // as opaque as those of another file system
      require(batches <= kFiles, "readdir does not end");
    }
    require(seen == expected, fmt::format("{} returned {} names of {}", op_name(kind), seen.size(), expected.size()));
    Answer a = c.ok({.kind = kind, .object = c.top, .handle = h, .offset = 0, .length = 4096, .result = 50});
    require(a.names.size() == 50, "reading a directory again from its start returned no full batch");
    c.ok({.kind = OpKind::releasedir, .object = c.top, .handle = h});
  }
}

void many_directories(Case& c) {
  // More than a target may keep descriptors or handles for, visited in an order that defeats a cache.
  constexpr int kWide = 1500;
  std::vector<ObjectId> dirs;
  for (int i = 0; i < kWide; ++i) dirs.push_back(c.mkdir(c.top, fmt::format("d{}", i)));
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < kWide; ++i) c.mkdir(dirs[size_t(i)], fmt::format("sub{}", round));
  const Attr attr = c.getattr(dirs[0]);
  require(!(attr.valid & kAttrNlink) || attr.nlink >= 1, "no link count");
  ObjectId at = c.top;
  for (int i = 0; i < 60; ++i) at = c.mkdir(at, "deeper");
  c.close(c.create(at, "bottom"));
}

void extended_attributes(Case& c) {
  auto f = c.create(c.top, "file");
  Op set{.kind = OpKind::setxattr, .object = f.object, .length = 5, .name = "user.test", .data = "value"};
  if (!c.d.can(set)) return;
  c.ok(set);
  set.flags = XATTR_CREATE;
  c.expect(set, {EEXIST});
  Op get{.kind = OpKind::getxattr, .object = f.object, .length = 100, .name = "user.test"};
  require(c.ok(get).data == "value", "an xattr reads back differently");
  get.length = 0;
  require(c.ok(get).result == 5, "an xattr's size is wrong");
  get.length = 2;
  c.expect(get, {ERANGE});
  require(c.ok({.kind = OpKind::listxattr, .object = f.object, .length = 4096}).data.find(std::string_view("user.test\0", 10)) !=
              std::string::npos,
          "an xattr is not listed");
  c.ok({.kind = OpKind::removexattr, .object = f.object, .name = "user.test"});
  get.length = 100;
  c.expect(get, {ENODATA});
  set.flags = XATTR_REPLACE;
  c.expect(set, {ENODATA});
  c.close(f);
}

// As `cp -a` sets it: owner rwx, group r-x, others nothing.
void minimal_access_list(Case& c) {
  auto f = c.create(c.top, "file");
  const ObjectId dir = c.mkdir(c.top, "dir");
  const std::string_view list(
      "\2\0\0\0"
      "\1\0\7\0\377\377\377\377"
      "\4\0\5\0\377\377\377\377"
      "\40\0\0\0\377\377\377\377",
      28);
  for (const ObjectId object : {f.object, dir}) {
    const Attr set{.valid = kAttrMode, .mode = 07711};  // without --privileged the sticky bit alone
    const uint32_t upper = c.set_and_get(object, set).mode & 07000;
    const Op op{
        .kind = OpKind::setxattr, .object = object, .length = list.size(), .name = "system.posix_acl_access", .data = list};
    if (!c.d.can(op)) continue;
    c.ok(op);
    const uint32_t mode = c.getattr(object).mode & 07777;
    require(mode == (0750 | upper), fmt::format("an access list left mode {:o}, not {:o}", mode, 0750 | upper));
  }
  c.close(f);
}

}  // namespace

std::vector<NamedCase> name_cases() {
  return {{"names", names},
          {"odd names", odd_names},
          {"unsafe names", unsafe_names},
          {"attributes", attributes},
          {"hard links", links},
          {"a hard link renamed to another", links_renamed},
          {"symlinks", symlinks},
          {"special files", special_files},
          {"opens by name", opens_by_name},
          {"renames", renames},
          {"rename flags", rename_flags},
          {"big directory", big_directory},
          {"many directories", many_directories},
          {"extended attributes", extended_attributes},
          {"minimal access list", minimal_access_list}};
}

}  // namespace fsr
