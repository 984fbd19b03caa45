// SPDX-License-Identifier: Apache-2.0
// Conformance of targets: each operation as the target states it in docs/operations.md.
#include <linux/fs.h>
#include <sys/file.h>
#include <unistd.h>

#include <map>

#include "case.hpp"
#include "clone.hpp"
#include "targets/op_shapes.hpp"

namespace fsr {

namespace {

const char* word(Fidelity f) {
  return f == Fidelity::exact ? "exact" : f == Fidelity::approximate ? "approximate" : "impossible";
}

// What the shapes are about, made anew for each of them.
class Stage {
 public:
  Stage(Case& c, const std::string& name) : c_(c) {
    const ObjectId dir = c.mkdir(c.top, name), other = c.mkdir(c.top, name + "-other");
    c.mkdir(dir, kShapeDirectoryName);
    Case::File file = c.create(dir, kShapeName), second = c.create(dir, "second");
    content_ = pattern(8192, 1);
    c.write(file, 0, content_);
    objects_ = {
        {kShapeDirectory, dir}, {kShapeOtherDirectory, other}, {kShapeFile, file.object}, {kShapeOtherFile, second.object}};
    handles_ = {{kShapeFileHandle, file.handle}, {kShapeOtherHandle, second.handle}};
    handles_[kShapeDirectoryHandle] = c.open(dir, O_RDONLY | O_DIRECTORY, OpKind::opendir);
    Op link{.kind = OpKind::symlink, .object = Driver::new_object(), .parent = dir, .name = "link", .data = kShapeName};
    if (c.d.can(link)) c.ok(link), objects_[kShapeSymlink] = link.object;
    Op xattr{.kind = OpKind::setxattr, .object = file.object, .length = 3, .name = kShapeAttribute, .data = "old"};
    if (c.d.can(xattr)) c.ok(xattr);
  }

  // Closes all handles, as a file and as a directory. One of the two fails, and both if the operation closed the handle.
  ~Stage() {
    for (auto [shape, handle] : handles_)
      for (OpKind kind : {OpKind::release, OpKind::releasedir}) c_.d.perform({.kind = kind, .handle = handle});
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // The shape with what is on this stage.
  Op cast(const Op& shape) {
    Op op = shape;
    for (ObjectId* id : {&op.object, &op.object2, &op.parent, &op.parent2})
      if (*id == kShapeNew)
        *id = Driver::new_object();
      else if (auto known = objects_.find(*id); known != objects_.end())
        *id = known->second;
    for (HandleId* id : {&op.handle, &op.handle2})
      if (*id) {
        auto [known, fresh] = handles_.try_emplace(*id, *id);
        if (fresh) known->second = Driver::new_handle();
        *id = known->second;
      }
    return op;
  }

  // What an exact operation must have done.
  void verify(const Op& op, const Answer& a) {
    switch (op.kind) {
      case OpKind::setattr:
        return verify_set(*op.set, c_.getattr(op.object));
      case OpKind::create:
      case OpKind::mkdir:
      case OpKind::mknod: {
        Attr made = c_.lookup(op.parent, op.name, op.object).attr;
        require((made.mode & 07777) == (op.mode & 07777), fmt::format("made with mode {:o}", made.mode));
        require(op.kind != OpKind::mknod || (made.mode & S_IFMT) == (op.mode & S_IFMT), "made as another type");
        return;
      }
      case OpKind::symlink:
        require(c_.ok({.kind = OpKind::readlink, .object = op.object}).data == op.data, "leads elsewhere");
        return;
      case OpKind::link: {
        const Attr attr = c_.getattr(op.object);
        require(!(attr.valid & kAttrNlink) || attr.nlink == 2, "made no second link");
        return;
      }
      case OpKind::unlink:
      case OpKind::rmdir:
        c_.lookup(op.parent, op.name, 0, ENOENT);
        return;
      case OpKind::rename:
        c_.lookup(op.parent2, op.name2, op.object);
        if (op.flags & RENAME_WHITEOUT)
          require(S_ISCHR(c_.lookup(op.parent, op.name, Driver::new_object()).attr.mode), "left no whiteout");
        else if (!(op.flags & RENAME_EXCHANGE))
          c_.lookup(op.parent, op.name, 0, ENOENT);
        return;
      case OpKind::read:
        require(a.data == content_.substr(0, op.length), "read something else");
        return;
      case OpKind::write:
        require(c_.read({op.object, op.handle}, op.has(kOpAppend) ? content_.size() : 0, op.length) == pattern(op.length, 2),
                "wrote something else");
        return;
      case OpKind::setxattr:
        if (op.name == "system.posix_acl_access")
          require((c_.getattr(op.object).mode & 0777) == 0640, "the mode is not what the list says");
        else
          require(c_.ok({.kind = OpKind::getxattr, .object = op.object, .length = 256, .name = op.name}).data == op.data,
                  "set another value");
        return;
      case OpKind::getxattr:
        require(a.data == "old", "has another value");
        return;
      default:
        return;
    }
  }

 private:
  static void verify_set(const Attr& set, const Attr& now) {
    if (set.valid & kAttrSize) require(now.size == set.size, "the size is not what was set");
    if (set.valid & kAttrMode) require((now.mode & 07777) == set.mode, "the mode is not what was set");
    if (set.valid & kAttrUid) require(now.uid == set.uid && now.gid == set.gid, "the owner is not what was set");
    if (set.valid & kAttrMtime) require(now.mtime == set.mtime, "the time of change is not what was set");
    if (set.valid & kAttrAtime) require(now.atime == set.atime, "the time of access is not what was set");
  }

  Case& c_;
  std::string content_;
  std::map<ObjectId, ObjectId> objects_;
  std::map<HandleId, HandleId> handles_;
};

// Errors that are an answer of the file system, not a refusal of the operation.
bool fair_answer(const Op& op, int error) {
  if (op.kind == OpKind::ioctl) return error == ENOTTY || error == 0;
  // Not all file systems can share blocks, or those of this range.
  if (is_clone(op)) return error == EOPNOTSUPP || error == EINVAL || error == 0;
  if (op.kind == OpKind::setattr && (op.set->valid & kAttrUid) && geteuid() != 0) return error == EPERM;
  return error == 0;
}

void statement(Target& target, Case& c, const OpShape& shape, const std::string& stage_name, bool privileged) {
  const Fidelity stated = target.mapping()->fidelity(shape.op, privileged), here = target.fidelity(shape.op);
  require(here >= stated, fmt::format("stated as {}, treated as {}", word(stated), word(here)));
  if (here > stated) printf("# %s: not offered by this server: %s, so %s\n", target.name().c_str(), shape.label, word(here));
  Stage stage(c, stage_name);
  const Op op = stage.cast(shape.op);
  const std::string payload = op.kind == OpKind::write ? pattern(op.length, 2) : "";
  const Answer a = c.d.perform(op, payload);
  if (here == Fidelity::impossible) return require(a.error != 0, "stated as impossible, and done");
  require(fair_answer(op, a.error), fmt::format("stated as {}, answered {}", word(here), error_text(a.error)));
  if (here == Fidelity::exact && a.error == 0) stage.verify(op, a);
}

}  // namespace

void statements(Target& target, Case& c, bool privileged) {
  require(target.mapping() != nullptr, "the target states nothing");
  std::string wrong;
  int number = 0;
  for (const OpShape& shape : op_shapes()) {
    try {
      statement(target, c, shape, fmt::format("stage{}", ++number), privileged);
    } catch (const Failure& failure) {
      wrong += fmt::format("{}{}: {}", wrong.empty() ? "" : "; ", shape.label, failure.what());
    }
  }
  require(wrong.empty(), wrong);
}

}  // namespace fsr
