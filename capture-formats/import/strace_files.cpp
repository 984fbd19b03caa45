// SPDX-License-Identifier: Apache-2.0
// Calls that open, close, duplicate and lock.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "import_text.hpp"
#include "strace_import.hpp"

namespace fsr::strace {

using Notes = ImportNotes;

void Calls::open_how(const CallSpec& spec) {
  // open() finds flags and mode where it expects them.
  const std::string_view how = arg(spec.at.a);
  const std::string_view flags = field(how, "flags"), mode = field(how, "mode");
  call_.args.resize(4);
  call_.args[2] = flags;
  call_.args[3] = mode;
  CallSpec plain = spec;
  plain.at.b = 3;
  open(plain);
}

// Files outside have no operations, but their descriptors must be known to be theirs.
void Calls::open_outside(ImportTree::Found& found, uint64_t flags) {
  if (call_.error || found.bad) return;
  if (!found.node && found.parent) found.node = tree_.make(found.parent, found.name, 0);
  if (!found.node) return;
  auto open = std::make_shared<Description>();
  open->node = found.node;
  tree_.hold(found.node);
  set_descriptor(int(call_.result), std::move(open), flags & O_CLOEXEC);
}

// Finds the file that an open without creation opened, and tells if there is none inside.
bool Calls::find_opened(ImportTree::Found& found, uint64_t flags) {
  if (!call_.error && call_.path.starts_with('/') && !(flags & O_NOFOLLOW)) {
    // strace -y prints the real path, behind links that the log did not show.
    std::string real;
    unescape_c(call_.path, &real);
    const ImportTree::Found there = tree_.find(kTopNode, real, false, true);
    if (!there.bad && (there.node != found.node || !there.node)) found = there;
    if (!tree_.inside(found.node ? found.node : found.parent)) found.parent = 0;
  }
  if (!found.parent && !found.node) return note(Notes::ignored, "calls on files outside of the directory"), false;
  return file(found, flags & O_DIRECTORY ? S_IFDIR : 0) != 0;
}

void Calls::open(const CallSpec& spec) {
  const uint64_t flags = spec.at.a < 0 ? O_CREAT | O_WRONLY | O_TRUNC : parse_flags(arg(spec.at.a));
  const bool exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
  ImportTree::Found found;
  if (!locate(spec, !(flags & O_NOFOLLOW) && !exclusive, &found)) return open_outside(found, flags);
  Op op = begin(OpKind::open);
  op.open_flags = uint32_t(flags & ~uint64_t(O_CLOEXEC));
  op.mode = flags & O_CREAT ? uint32_t(parse_flags(arg(spec.at.b))) & ~thread_->directory->umask : 0;
  if (nameless) {
    const NodeId directory = file(found, S_IFDIR);
    if (!directory) return;
    op.kind = OpKind::tmpfile;
    tree_.introduce(directory, op, sink_);
    op.parent = tree_.node(directory).object;
    if (call_.error) return add(op);
    found.node = tree_.make_nameless(directory, S_IFREG);
    return add_open(op, found.node, flags, true);
  }
  if (call_.error == EEXIST || (call_.error && !found.node && flags & O_CREAT && call_.error != ENOENT)) {
    if (!tree_.inside(found.parent)) return note(Notes::ignored, "calls on files outside of the directory");
    op.kind = OpKind::create;
    set_name(op, found);
    return add(op);
  }
  const bool made = !call_.error && flags & O_CREAT && (exclusive || !found.node) && tree_.inside(found.parent);
  if (made) {
    op.kind = OpKind::create;
    op.mode |= S_IFREG;
    op.op_flags |= kOpCreated;
    // The file may have existed: no earlier call has shown that it did not.
    if (!exclusive && !found.absent) op.op_flags |= kOpInferred;
    set_name(op, found);
    found.node = tree_.make(found.parent, found.name, S_IFREG);
  } else if (!find_opened(found, flags)) {
    return;
  }
  add_open(op, found.node, flags, made);
}

// Adds the open of a file. `made`: by it.
void Calls::add_open(Op& op, NodeId node, uint64_t flags, bool made) {
  ImportNode& n = tree_.node(node);
  const bool directory = n.type == S_IFDIR;
  if (!call_.error && (made || (flags & O_TRUNC && !directory))) {
    n.size = 0;
    n.size_known = true;
  }
  if (made) n.introduced = true;
  if (op.kind == OpKind::open) {
    op.open_flags &= ~uint32_t(O_CREAT | O_EXCL | O_NOCTTY);
    if (directory) op.kind = OpKind::opendir;
    op.mode = 0;
  }
  if (!call_.error) {
    auto open = std::make_shared<Description>();
    open->node = node;
    open->flags = flags;
    open->directory = directory;
    tree_.hold(node);
    if (!(flags & O_PATH)) op.handle = open->handle = next_handle_++;
    set_descriptor(int(call_.result), std::move(open), flags & O_CLOEXEC);
  }
  if (flags & O_PATH) return note(Notes::ignored, "opens with O_PATH, which do not reach the file system");
  op.object = tree_.node(node).object;
  if (made) return add(op);
  add(op, node);
}

void Calls::close(const CallSpec& spec) {
  int fd;
  std::string path;
  if (!parse_descriptor(arg(spec.at.fd), &fd, &path)) return note(Notes::lost, kNotUnderstood);
  // A close of an unknown descriptor that was opened before the log began is no loss.
  if (!thread_->files->contains(fd) && path.empty()) return note(Notes::ignored, "closes of descriptors of unknown origin");
  const auto open = opened(spec.at.fd).get();
  Op op = begin(OpKind::flush);
  if (open && open->handle && !open->directory) {
    op.handle = open->handle;
    op.owner = uint64_t(op.who->pid);
    add(op, open->node);
  }
  if (call_.error != EBADF) close_descriptor(*thread_->files, fd, op);
}

void Calls::close_range(const CallSpec&) {
  if (call_.error) return;
  const int64_t first = number(0), last = number(1);
  const uint64_t flags = parse_flags(arg(2));
  constexpr uint64_t kOnExec = 4, kUnshare = 2;
  if (flags & kUnshare) thread_->files = std::make_shared<Descriptors>(*thread_->files);
  Descriptors& files = *thread_->files;
  const Op like = begin(OpKind::null);
  for (auto it = files.begin(); it != files.end();) {
    const int fd = it->first;
    Descriptor& descriptor = it++->second;
    if (fd < first || (last >= 0 && fd > last)) continue;
    if (flags & kOnExec)
      descriptor.close_on_exec = true;
    else
      close_descriptor(files, fd, like);
  }
}

void Calls::duplicate(const CallSpec& spec) {
  if (call_.error) return;
  int fd, target = int(call_.result);
  std::string path;
  if (!parse_descriptor(arg(spec.at.fd), &fd, &path) || fd == target) return;
  opened(spec.at.fd);  // strace -y may name what was not known
  auto it = thread_->files->find(fd);
  if (it == thread_->files->end())
    close_descriptor(*thread_->files, target, begin(OpKind::null));
  else
    set_descriptor(target, it->second.open, parse_flags(arg(spec.at.b)) & O_CLOEXEC);
}

void Calls::no_file(const CallSpec&) {
  if (call_.error) return;
  // pipe([3, 4]) and socketpair(..., [3, 4]) return theirs in a list, the others as their result.
  std::vector<std::string_view> made;
  for (std::string_view a : call_.args)
    if (a.starts_with('[')) made = list(a);
  for (std::string_view text : made) {
    int fd;
    std::string path;
    if (parse_descriptor(text, &fd, &path)) set_descriptor(fd, nullptr, false);
  }
  if (call_.result > 0) set_descriptor(int(call_.result), nullptr, false);
  note(Notes::ignored, "system calls that use no file");
}

void Calls::control(const CallSpec& spec) {
  const int64_t command = int64_t(parse_flags(arg(1)));
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC: {
      CallSpec plain = spec;
      duplicate(plain);
      if (command == F_DUPFD_CLOEXEC && !call_.error) (*thread_->files)[int(call_.result)].close_on_exec = true;
      return;
    }
    case F_SETFD: {
      int fd;
      std::string path;
      if (parse_descriptor(arg(spec.at.fd), &fd, &path))
        if (auto it = thread_->files->find(fd); it != thread_->files->end())
          it->second.close_on_exec = parse_flags(arg(2)) & FD_CLOEXEC;
      return;
    }
    case F_SETFL:
      if (const auto open = opened(spec.at.fd); open && !call_.error)
        open->flags = (open->flags & ~uint64_t(O_APPEND)) | (parse_flags(arg(2)) & O_APPEND);
      return;
    case F_GETLK:
    case F_OFD_GETLK:
      return record_lock(OpKind::getlk, command, false, command == F_OFD_GETLK);
    case F_SETLK:
    case F_SETLKW:
      return record_lock(OpKind::setlk, command, command == F_SETLKW, false);
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
      return record_lock(OpKind::setlk, command, command == F_OFD_SETLKW, true);
    default:
      return note(Notes::ignored, "fcntl: calls that do not reach the file system");
  }
}

void Calls::record_lock(OpKind kind, int64_t, bool wait, bool ofd) {
  const bool refused = call_.error == EAGAIN || call_.error == EINTR;
  const int error = std::exchange(call_.error, refused ? 0 : call_.error);  // answers of the lock, not of the kernel
  const auto open = opened(0);
  call_.error = error;
  if (!open || !open->handle) return;
  const std::string_view range = arg(2);
  int64_t start = 0, length = 0;
  if (!parse_number(field(range, "l_start"), &start) || !parse_number(field(range, "l_len"), &length))
    return note(Notes::lost, kNotUnderstood);
  const ImportNode& n = tree_.node(open->node);
  const uint64_t whence = parse_flags(field(range, "l_whence"));
  if (whence == SEEK_CUR) start += int64_t(open->offset);
  if (whence == SEEK_END && !n.size_known) return note(Notes::lost, "locks relative to the end of a file of unknown size");
  if (whence == SEEK_END) start += int64_t(n.size);
  if (length < 0) {
    start += length;
    length = -length;
  }
  Op op = begin(kind);
  op.handle = open->handle;
  // Owners are processes, or for F_OFD_ open files: numbers of two ranges.
  op.owner = ofd ? open->handle | uint64_t(1) << 63 : uint64_t(op.who->pid);
  op.offset = uint64_t(start);
  op.length = uint64_t(length);
  op.mode = uint32_t(parse_flags(field(range, "l_type")));
  if (wait) op.op_flags |= kOpWait;
  add(op, open->node);
}

void Calls::lock(const CallSpec& spec) {
  const int error = std::exchange(call_.error, call_.error == EAGAIN || call_.error == EINTR ? 0 : call_.error);
  const auto open = opened(spec.at.fd);
  call_.error = error;
  if (!open || !open->handle) return;
  const uint64_t operation = parse_flags(arg(spec.at.a));
  Op op = begin(OpKind::flock);
  op.handle = open->handle;
  op.owner = open->handle | uint64_t(1) << 63;
  op.mode = uint32_t(operation & ~uint64_t(LOCK_NB));
  if (!(operation & LOCK_NB)) op.op_flags |= kOpWait;
  add(op, open->node);
}

}  // namespace fsr::strace
