// SPDX-License-Identifier: Apache-2.0
// Calls on the data of open files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "clone.hpp"
#include "import_text.hpp"
#include "strace_import.hpp"

namespace fsr::strace {

using Notes = ImportNotes;

// Adds up the lengths of an iovec. False: strace has truncated the list.
static bool vector_length(std::string_view vector, uint64_t* sum) {
  *sum = 0;
  for (std::string_view part : list(vector)) {
    int64_t bytes;
    if (!parse_number(field(part, "iov_len"), &bytes) || bytes < 0) return false;
    *sum += uint64_t(bytes);
  }
  return true;
}

// Sets the offset of a transfer, from the argument or the descriptor's position.
void Calls::range_of(const CallSpec& spec, Description& open, Op* op) {
  ImportNode& n = tree_.node(open.node);
  const bool append = op->kind == OpKind::write && open.flags & O_APPEND;
  const bool positioned = spec.at.b >= 0 && number(spec.at.b) != -1;
  op->offset = positioned ? uint64_t(number(spec.at.b)) : open.offset;
  if (append) {
    op->op_flags |= kOpAppend;
    if (!n.size_known) op->op_flags |= kOpInferred;
    op->offset = n.size;
  }
  if (call_.error) return;
  op->result = uint64_t(call_.result);
  const uint64_t end = op->offset + op->result;
  if (!positioned) open.offset = end;
  if (op->kind == OpKind::write) n.size = std::max(n.size, end);
}

void Calls::transfer(const CallSpec& spec) {
  const auto open = opened(spec.at.fd);
  if (!open) return;
  if (open->directory || !open->handle)
    return note(Notes::ignored, "calls that the kernel refused before they reached a file system");
  Op op = begin(spec.kind);
  op.handle = open->handle;
  if (!arg(spec.at.a).starts_with('[')) {
    op.length = uint64_t(number(spec.at.a));
  } else if (!vector_length(arg(spec.at.a), &op.length)) {
    op.length = uint64_t(call_.result);
    op.op_flags |= kOpInferred;
  }
  if (call_.error == 0 && (call_.result < 0 || uint64_t(call_.result) > op.length)) return note(Notes::lost, kNotUnderstood);
  range_of(spec, *open, &op);
  add(op, open->node);
}

// [10], or [10] => [20]: where a transfer began. NULL: at the descriptor's position.
static bool given_offset(std::string_view arg, uint64_t* offset) {
  int64_t value;
  if (!arg.starts_with('[') || !parse_number(arg.substr(1), &value)) return false;
  *offset = uint64_t(value);
  return true;
}

void Calls::seek(const CallSpec& spec) {
  const auto open = opened(spec.at.fd);
  if (!open) return;
  const uint64_t whence = parse_flags(arg(spec.at.b));
  uint64_t position = uint64_t(call_.result);
  if (!call_.error && spec.at.c >= 0 && !given_offset(arg(spec.at.c), &position)) return note(Notes::lost, kNotUnderstood);
  if (!call_.error) open->offset = position;
  if (whence != SEEK_DATA && whence != SEEK_HOLE) return note(Notes::ignored, "lseek: calls that do not reach the file system");
  Op op = begin(OpKind::lseek);
  op.handle = open->handle;
  op.offset = uint64_t(number(spec.at.a));
  op.mode = uint32_t(whence);
  if (!call_.error) op.result = position;
  add(op, open->node);
}

void Calls::sync(const CallSpec& spec) {
  const auto open = opened(spec.at.fd);
  if (!open || !open->handle) return;
  Op op = begin(open->directory ? OpKind::fsyncdir : OpKind::fsync);
  op.handle = open->handle;
  op.flags = spec.at.a >= 0;
  add(op, open->node);
}

void Calls::allocate(const CallSpec& spec) {
  const auto open = opened(spec.at.fd);
  if (!open || !open->handle) return;
  Op op = begin(OpKind::fallocate);
  op.handle = open->handle;
  op.mode = uint32_t(parse_flags(arg(1)));
  op.offset = uint64_t(number(2));
  op.length = uint64_t(number(3));
  tree_.node(open->node).size_known = false;
  add(op, open->node);
}

void Calls::list_directory(const CallSpec& spec) {
  const auto open = opened(spec.at.fd);
  if (!open || !open->handle) return;
  open->directory = true;
  Op op = begin(OpKind::readdir);
  op.handle = open->handle;
  op.offset = open->entries;
  op.length = uint64_t(number(2));
  std::vector<std::string> names;
  std::vector<DirEntry> entries;
  const std::string_view shown = arg(1);
  uint64_t count = 0, dots = 0;
  if (shown.starts_with('[')) {  // strace -v
    for (std::string_view part : list(shown)) {
      int64_t ino = 0;
      if (!parse_string(field(part, "d_name"), &names.emplace_back())) continue;
      ++count;
      dots += names.back() == "." || names.back() == "..";
      if (!valid_component(names.back())) continue;
      parse_number(field(part, "d_ino"), &ino);
      entries.push_back({.ino = uint64_t(ino)});
      names.back().swap(names[entries.size() - 1]);
    }
    for (size_t i = 0; i < entries.size(); ++i) entries[i].name = names[i];
  } else if (const size_t at = shown.find("/* "); at != std::string_view::npos) {  // 0x5581 /* 12 entries */
    int64_t shown_size = 0;
    parse_number(shown.substr(at + 3), &shown_size);
    count = uint64_t(std::max<int64_t>(shown_size, 0));
    dots = open->entries == 0 ? std::min<uint64_t>(count, 2) : 0;
    // This assumes that "." and ".." come first, as on almost all file systems. A listing of only two entries has just these.
    if (dots && count > dots) op.op_flags |= kOpInferred;
  }
  open->entries += count;
  op.entries = entries;
  op.result = count - dots;
  add(op, open->node);
}

// Adds a transfer between two files as a read of one and a write of the other. A file outside the imported directory has no
// operation.
void Calls::split_transfer(int in_arg, int in_offset, int out_arg, int out_offset, uint64_t length) {
  const auto in = opened(in_arg), out = opened(out_arg);
  for (const auto& open : {in, out}) {
    if (!open || !open->handle) continue;
    Op op = begin(open == in ? OpKind::read : OpKind::write);
    op.op_flags |= kOpInferred;
    op.handle = open->handle;
    op.length = call_.error ? length : uint64_t(std::max<int64_t>(call_.result, 0));
    const uint64_t position = open->offset;
    uint64_t given;
    const bool explicitly = given_offset(arg(open == in ? in_offset : out_offset), &given);
    if (explicitly) open->offset = given;
    range_of({.name = nullptr, .handle = nullptr, .kind = op.kind}, *open, &op);
    if (explicitly) open->offset = position;
    add(op, open->node);
  }
}

void Calls::send_file(const CallSpec&) { split_transfer(1, 2, 0, -1, uint64_t(number(3))); }

void Calls::copy_range(const CallSpec&) {
  const auto in = opened(0), out = opened(2);
  if (!in || !out || !in->handle || !out->handle) return split_transfer(0, 1, 2, 3, uint64_t(number(4)));
  Op op = begin(OpKind::copy_file_range);
  op.length = uint64_t(number(4));
  if (call_.result < 0 || uint64_t(call_.result) > op.length) call_.result = 0;
  op.result = call_.error ? 0 : uint64_t(call_.result);
  op.offset = in->offset;
  op.offset2 = out->offset;
  if (!given_offset(arg(1), &op.offset)) in->offset += op.result;
  if (!given_offset(arg(3), &op.offset2)) out->offset += op.result;
  ImportNode& target = tree_.node(out->node);
  if (!call_.error) target.size = std::max(target.size, op.offset2 + op.result);
  op.handle = in->handle;
  op.handle2 = out->handle;
  tree_.introduce(out->node, op, sink_);
  op.object2 = target.object;
  add(op, in->node);
}

void Calls::map(const CallSpec& spec) {
  if (call_.error || arg(spec.at.fd) == "-1") return note(Notes::ignored, "system calls that use no file");
  if (opened(spec.at.fd)) note(Notes::lost, "mmap of files: the log does not show reads and writes through a mapping");
}

// ioctl(4, FICLONE, 3); ioctl(4, FICLONERANGE, {src_fd=3, src_offset=0, src_length=4096, dest_offset=0}). Older versions of
// strace name them BTRFS_IOC_CLONE and BTRFS_IOC_CLONE_RANGE.
void Calls::clone_range() {
  const bool part = arg(2).starts_with('{');
  const auto out = opened(0), in = part ? opened(field(arg(2), "src_fd")) : opened(2);
  if (!in || !out) return;
  if (!in->handle || !out->handle) return note(Notes::lost, "ioctl: clones between the imported directory and files elsewhere");
  int64_t from = 0, length = 0, to = 0;
  if (part && !(parse_number(field(arg(2), "src_offset"), &from) && parse_number(field(arg(2), "src_length"), &length) &&
                parse_number(field(arg(2), "dest_offset"), &to)))
    return note(Notes::lost, kNotUnderstood);
  Op op = begin(OpKind::copy_file_range);
  op.flags = kCopyClone;
  op.offset = uint64_t(from);
  op.offset2 = uint64_t(to);
  op.length = uint64_t(length);
  const ImportNode& source = tree_.node(in->node);
  if (!length && !call_.error && source.size_known) op.length = source.size - std::min(source.size, op.offset);
  ImportNode& target = tree_.node(out->node);
  if (!call_.error) {
    op.result = op.length;
    target.size = std::max(target.size, op.offset2 + op.result);
    if (!op.length && !source.size_known) target.size_known = false;  // as long as the source, whose size is not known
  }
  op.handle = in->handle;
  op.handle2 = out->handle;
  tree_.introduce(out->node, op, sink_);
  op.object2 = target.object;
  add(op, in->node);
}

void Calls::control_device(const CallSpec& spec) {
  if (call_.error == EOPNOTSUPP || call_.error == EXDEV)
    return note(Notes::ignored, "ioctl: calls that the file system does not support");
  if (const std::string_view command = arg(1); command.find("CLONE") != command.npos) return clone_range();
  if (call_.error == ENOTTY) return note(Notes::ignored, "ioctl: calls that check whether a file is a terminal");
  if (opened(spec.at.fd)) note(Notes::lost, "ioctl: strace does not show all arguments");
}

}  // namespace fsr::strace
