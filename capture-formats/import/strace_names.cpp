// SPDX-License-Identifier: Apache-2.0
// Calls that make, move and remove names.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <cerrno>

#include "import_text.hpp"
#include "strace_import.hpp"

namespace fsr::strace {

using Notes = ImportNotes;

void Calls::make(const CallSpec& spec) {
  ImportTree::Found found;
  if (!locate_name(spec.at.dir, spec.at.path, &found)) return;
  Op op = begin(spec.kind);
  set_name(op, found);
  const uint32_t mode = uint32_t(parse_flags(arg(spec.at.a)));
  const uint32_t type = spec.kind == OpKind::mkdir ? S_IFDIR : mode & S_IFMT ? mode & S_IFMT : S_IFREG;
  op.mode = mode & ~thread_->directory->umask;
  if (!call_.error) {
    const NodeId made = tree_.make(found.parent, found.name, type);
    ImportNode& n = tree_.node(made);
    n.introduced = n.size_known = true;
    n.whole = type == S_IFDIR;
    op.object = n.object;
  }
  add(op);
}

void Calls::make_symlink(const CallSpec& spec) {
  ImportTree::Found found;
  std::string target;
  if (!locate_name(spec.at.dir, spec.at.path, &found)) return;
  if (!parse_string(arg(spec.at.a), &target)) return note(Notes::lost, "paths that the log does not show completely");
  Op op = begin(OpKind::symlink);
  set_name(op, found);
  op.data = target;
  if (!call_.error) {
    ImportNode& n = tree_.node(tree_.make(found.parent, found.name, S_IFLNK));
    n.introduced = true;
    n.target = target;
    op.object = n.object;
  }
  add(op);
}

void Calls::make_link(const CallSpec& spec) {
  ImportTree::Found from, to;
  if (!locate(spec, (parse_flags(arg(spec.at.c)) & AT_SYMLINK_FOLLOW) != 0, &from)) return;
  if (!from.node && call_.error == ENOENT) {
    file(from);
    return;
  }
  if (!locate_name(spec.at.a, spec.at.b, &to)) return;
  const NodeId id = file(from);
  if (!id) return;
  Op op = begin(OpKind::link);
  tree_.introduce(to.parent, op, sink_);
  tree_.introduce(id, op, sink_);
  op.parent2 = tree_.node(to.parent).object;
  op.name2 = to.name;
  op.object = tree_.node(id).object;
  if (!call_.error) tree_.bind(to.parent, to.name, id);
  add(op);
}

void Calls::remove(const CallSpec& spec) {
  ImportTree::Found found;
  if (!locate_name(spec.at.dir, spec.at.path, &found)) return;
  const bool directory = spec.kind == OpKind::rmdir || parse_flags(arg(spec.at.a)) & AT_REMOVEDIR;
  Op op = begin(directory ? OpKind::rmdir : OpKind::unlink);
  tree_.introduce(found.node && !call_.error ? found.node : found.parent, op, sink_);
  op.parent = tree_.node(found.parent).object;
  op.name = found.name;
  if (!call_.error) {
    if (found.node) op.object = tree_.node(found.node).object;
    tree_.unbind(found.parent, found.name);
  }
  add(op);
}

void Calls::rename(const CallSpec& spec) {
  ImportTree::Found from, to;
  const bool leaves = locate_name(spec.at.dir, spec.at.path, &from);
  if (!leaves && call_.error) return;
  const bool arrives = locate_name(spec.at.a, spec.at.b, &to);
  if (leaves != arrives && !call_.error) {
    note(Notes::lost, "renames across the border of the directory");
    if (leaves) tree_.unbind(from.parent, from.name);
  }
  if (!leaves || !arrives) return;
  Op op = begin(OpKind::rename);
  op.flags = uint32_t(parse_flags(arg(spec.at.c)));
  op.parent = tree_.node(from.parent).object;
  op.name = from.name;
  op.parent2 = tree_.node(to.parent).object;
  op.name2 = to.name;
  tree_.introduce(from.parent, op, sink_);
  tree_.introduce(to.parent, op, sink_);
  if (call_.error) return add(op);
  const NodeId moved = file(from), replaced = to.node;
  tree_.introduce(moved, op, sink_);
  op.object = tree_.node(moved).object;
  if (replaced) {
    tree_.introduce(replaced, op, sink_);
    op.object2 = tree_.node(replaced).object;
  }
  add(op);
  if (moved == replaced) return;
  tree_.hold(moved);
  tree_.unbind(from.parent, from.name);
  if (replaced && op.flags & RENAME_EXCHANGE) {
    tree_.hold(replaced);
    tree_.bind(from.parent, from.name, replaced);
    tree_.bind(to.parent, to.name, moved);
    tree_.drop(replaced);
  } else {
    tree_.bind(to.parent, to.name, moved);
    if (op.flags & RENAME_WHITEOUT) tree_.make(from.parent, from.name, S_IFCHR);
  }
  tree_.drop(moved);
}

void Calls::read_link(const CallSpec& spec) {
  const NodeId id = file_at(spec, false);
  if (!id) return;
  Op op = begin(OpKind::readlink);
  std::string target;
  bool cut = true;
  if (!call_.error && parse_string(arg(spec.at.a), &target, &cut) && !cut) {
    tree_.node(id).type = S_IFLNK;
    tree_.node(id).target = target;
    op.data = target;
  } else if (!call_.error) {
    note(Notes::changed, "targets of symbolic links that strace truncated (use a larger -s)");
  }
  add(op, id);
}

void Calls::change_directory(const CallSpec& spec) {
  if (call_.error) return note(Notes::ignored, "chdir: calls that change no file");
  NodeId id = 0;
  if (spec.at.fd >= 0) {
    int fd;
    std::string path;
    if (!parse_descriptor(arg(spec.at.fd), &fd, &path)) return;
    auto it = thread_->files->find(fd);
    if (it != thread_->files->end() && it->second.open)
      id = it->second.open->node;
    else
      base_of(spec.at.fd, &id);
  } else {
    std::string path;
    if (!parse_string(arg(spec.at.path), &path)) return;
    ImportTree::Found found = tree_.find(thread_->directory->cwd, path, true, true);
    if (found.bad) return note(Notes::lost, "paths with impossible names or cycles");
    id = found.node ? found.node : tree_.make(found.parent, found.name, S_IFDIR);
  }
  if (id) processes_.set_cwd(*thread_, id);
  note(Notes::ignored, "chdir: calls that change no file");
}

void Calls::change_umask(const CallSpec&) { thread_->directory->umask = uint32_t(number(0)) & 0777; }

}  // namespace fsr::strace
