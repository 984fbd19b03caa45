// SPDX-License-Identifier: Apache-2.0
// Functions that all handlers use, to find files and open files from arguments.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "import_text.hpp"
#include "strace_import.hpp"

namespace fsr::strace {

using Notes = ImportNotes;

Op Calls::begin(OpKind kind) const {
  Op op{.start = start_, .duration = std::max<int64_t>(end_ - start_, 0), .kind = kind, .error = call_.error};
  op.who = thread_->who;
  op.thread = op.who->id;
  return op;
}

void Calls::add(Op op, NodeId object) {
  if (object) {
    tree_.introduce(object, op, sink_);
    op.object = tree_.node(object).object;
  }
  add(op);
}

int64_t Calls::number(int n) const {
  int64_t value = 0;
  parse_number(arg(n), &value);
  return value;
}

void Calls::learn(NodeId id, const Attr& attr) {
  ImportNode& n = tree_.node(id);
  if (attr.valid & kAttrMode) n.type = attr.mode & S_IFMT;
  if (!(attr.valid & kAttrSize)) return;
  n.size = attr.size;
  n.size_known = true;
}

bool Calls::refused_by_kernel() {
  switch (call_.error) {
    case EBADF:
    case EFAULT:
    case ENAMETOOLONG:
    case ELOOP:
    case EMFILE:
    case ENFILE:
    case ENOTDIR:
    case EINTR:
    case EAGAIN:
      note(Notes::ignored, "calls that the kernel refused before they reached a file system");
      return true;
    default:
      return false;
  }
}

bool Calls::base_of(int dir, NodeId* base) {
  *base = thread_->directory->cwd;
  if (dir < 0) return true;
  int fd;
  std::string path;
  if (!parse_descriptor(arg(dir), &fd, &path)) return false;
  if (!path.starts_with('/')) {
    if (fd == AT_FDCWD) return true;
    auto it = thread_->files->find(fd);
    if (it == thread_->files->end() || !it->second.open) return false;
    *base = it->second.open->node;
    return true;
  }
  // The path that strace -y prints is certain; our working directory may be a guess.
  ImportTree::Found found = tree_.find(kTopNode, path, false, true);
  if (found.bad) return false;
  if (!found.node) found.node = tree_.make(found.parent, found.name, S_IFDIR);
  *base = found.node;
  if (fd == AT_FDCWD) processes_.set_cwd(*thread_, found.node);
  return true;
}

bool Calls::locate(int dir, int path_arg, bool follow, ImportTree::Found* found) {
  if (refused_by_kernel()) return false;
  std::string path;
  bool cut = false;
  NodeId base;
  if (!parse_string(arg(path_arg), &path, &cut) || cut)
    return note(Notes::lost, "paths that the log does not show completely"), false;
  // A path below /proc/self/fd stands for the file behind that descriptor.
  constexpr std::string_view kSelf = "/proc/self/fd/";
  int fd;
  if (path.starts_with(kSelf) && parse_whole(std::string_view(path).substr(kSelf.size()), &fd)) {
    auto it = thread_->files->find(fd);
    if (it != thread_->files->end() && it->second.open) {
      const ImportNode& n = tree_.node(it->second.open->node);
      *found = {.parent = n.parent, .name = n.name, .node = it->second.open->node};
      return accounted(*found);
    }
  }
  if (!path.starts_with('/') || dir >= 0) {
    if (!base_of(path.starts_with('/') ? -1 : dir, &base))
      return note(Notes::lost, "paths below directories that the log does not name (use strace -y)"), false;
  }
  *found = tree_.find(path.starts_with('/') ? kTopNode : base, path, follow, call_.error != ENOENT);
  return accounted(*found);
}

bool Calls::locate_name(int dir, int path, ImportTree::Found* found) {
  if (!locate(dir, path, false, found)) return false;
  if (tree_.inside(found->parent)) return true;
  note(Notes::ignored, "calls on files outside of the directory");
  return false;
}

void Calls::set_name(Op& op, const ImportTree::Found& found) {
  tree_.introduce(found.parent, op, sink_);
  op.parent = tree_.node(found.parent).object;
  op.name = found.name;
}

bool Calls::accounted(const ImportTree::Found& found) {
  if (found.bad) return note(Notes::lost, "paths with impossible names or cycles"), false;
  if (!tree_.inside(found.node ? found.node : found.parent))
    return note(Notes::ignored, "calls on files outside of the directory"), false;
  if (!found.early) return true;
  // The kernel looked up one name after the other and stopped at the first that was not there.
  Op op = begin(OpKind::lookup);
  op.op_flags |= kOpInferred;
  set_name(op, found);
  add(op);
  tree_.unbind(found.parent, found.name);
  return false;
}

NodeId Calls::file(ImportTree::Found& found, uint32_t type) {
  if (call_.error == ENOENT) {
    if (!tree_.inside(found.parent)) return note(Notes::ignored, "calls on files outside of the directory"), 0;
    Op op = begin(OpKind::lookup);
    set_name(op, found);
    add(op);
    tree_.unbind(found.parent, found.name);
    return 0;
  }
  if (!found.node) found.node = tree_.make(found.parent, found.name, type);
  if (type && !tree_.node(found.node).type) tree_.node(found.node).type = type;
  return found.node;
}

NodeId Calls::file_at(const CallSpec& spec, bool follow) {
  std::string path;
  // An empty path (AT_EMPTY_PATH) or a null path means the descriptor itself.
  const bool itself =
      spec.at.path >= 0 && (arg(spec.at.path) == "NULL" || (parse_string(arg(spec.at.path), &path) && path.empty()));
  if (spec.at.fd >= 0 || (itself && spec.at.dir >= 0 && !arg(spec.at.dir).starts_with("AT_FDCWD"))) {
    const auto open = opened(spec.at.fd >= 0 ? spec.at.fd : spec.at.dir);
    return open ? open->node : 0;
  }
  ImportTree::Found found;
  return locate(spec, follow, &found) ? file(found) : 0;
}

std::shared_ptr<Description> Calls::opened(std::string_view descriptor) {
  int fd;
  std::string path;
  if (refused_by_kernel()) return nullptr;
  if (!parse_descriptor(descriptor, &fd, &path)) return note(Notes::lost, kNotUnderstood), nullptr;
  Descriptors& files = *thread_->files;
  auto it = files.find(fd);
  if (it == files.end()) {
    if (path.empty()) return note(Notes::lost, "calls on descriptors of unknown origin (use strace -y)"), nullptr;
    if (!path.starts_with('/')) {
      it = files.emplace(fd, Descriptor{}).first;
    } else {
      // Open when the log began: only the path of strace -y is known.
      ImportTree::Found found = tree_.find(kTopNode, path, false, true);
      if (found.bad) return note(Notes::lost, "paths with impossible names or cycles"), nullptr;
      if (!found.node) found.node = tree_.make(found.parent, found.name, 0);
      auto open = std::make_shared<Description>();
      open->node = found.node;
      open->flags = O_RDWR;
      open->directory = tree_.node(found.node).type == S_IFDIR;
      if (tree_.inside(open->node)) open->handle = next_handle_++;
      tree_.hold(open->node);
      it = files.emplace(fd, Descriptor{std::move(open)}).first;
    }
  }
  const auto& open = it->second.open;
  if (open && tree_.inside(open->node)) return open;
  note(Notes::ignored, open ? "calls on files outside of the directory" : "calls on pipes, sockets and the like");
  return nullptr;
}

void Calls::release(const std::shared_ptr<Description>& open, const Op& like) {
  if (open.use_count() > 1) return;
  if (open->handle) {
    Op op{
        .start = like.end(), .kind = open->directory ? OpKind::releasedir : OpKind::release, .op_flags = kOpKernel | kOpInferred};
    op.who = like.who;
    op.thread = like.thread;
    op.handle = open->handle;
    add(op, open->node);
  }
  tree_.drop(open->node);
}

// Closes a descriptor for which the log has no close(2), as at an exec. The handler of close(2) adds the flush itself.
void Calls::close_descriptor(Descriptors& files, int fd, const Op& like) {
  auto it = files.find(fd);
  if (it == files.end()) return;
  const std::shared_ptr<Description> open = std::move(it->second.open);
  files.erase(it);
  if (!open) return;
  if (open->handle && !open->directory && like.kind != OpKind::flush) {
    Op op{.start = like.start, .kind = OpKind::flush, .op_flags = kOpInferred};
    op.who = like.who;
    op.thread = like.thread;
    op.handle = open->handle;
    op.owner = uint64_t(like.who->pid);
    add(op, open->node);
  }
  release(open, like);
}

void Calls::close_all(Thread& thread, const Op& like, bool on_exec_only) {
  for (auto it = thread.files->begin(); it != thread.files->end();) {
    const int fd = it->first;
    const bool closes = !on_exec_only || it->second.close_on_exec;
    ++it;
    if (closes) close_descriptor(*thread.files, fd, like);
  }
}

void Calls::set_descriptor(int fd, std::shared_ptr<Description> open, bool close_on_exec) {
  close_descriptor(*thread_->files, fd, begin(OpKind::null));
  (*thread_->files)[fd] = {std::move(open), close_on_exec};
}

void Calls::ended() {
  call_ = {};
  const std::string pending = processes_.resume(*thread_);
  if (!pending.empty() && !pending.starts_with("exit")) note(Notes::lost, "calls that never returned");
  if (processes_.last_user(*thread_)) close_all(*thread_, begin(OpKind::null), false);
}

void Calls::execute(const CallSpec& spec) {
  if (call_.error) return note(Notes::ignored, "failed execs");
  std::string path;
  parse_string(arg(spec.at.path), &path);
  call_.error = 0;
  ImportTree::Found found;
  if (locate(spec, true, &found))
    note(Notes::lost, "execs of files in the directory: the log does not show the reads of the kernel");
  // Threads share descriptors until an exec, which gives the process its own.
  if (thread_->files.use_count() > 1) thread_->files = std::make_shared<Descriptors>(*thread_->files);
  close_all(*thread_, begin(OpKind::null), true);
  processes_.renamed(*thread_, std::string_view(path).substr(path.rfind('/') + 1));
}

void Calls::clone(const CallSpec&) {
  if (call_.error || call_.result <= 0) return;
  std::string arguments;
  for (std::string_view a : call_.args) arguments += a;
  processes_.cloned(*thread_, int32_t(call_.result), arguments);
}

}  // namespace fsr::strace
