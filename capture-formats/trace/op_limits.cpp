// SPDX-License-Identifier: Apache-2.0
#include "op_limits.hpp"

#include "model.hpp"

namespace fsr {

namespace {

constexpr uint64_t kMostLongName = 4096;  // bytes: a name too long for the file system is recorded with the refusal it met
constexpr uint64_t kMostXattr = 65536;    // bytes: XATTR_SIZE_MAX, XATTR_LIST_MAX
constexpr uint64_t kMostTarget = 65536;   // bytes of a symbolic link; Linux has 4095, servers may have more
constexpr uint64_t kMostCommand = 255;    // bytes; names of kernel threads are longer than the 15 of a program
constexpr int32_t kMostError = 4095;      // MAX_ERRNO
constexpr uint64_t kMostOffset = INT64_MAX;

bool names_possible(const Op& op, bool done) {
  const uint16_t traits = kind_traits(op.kind);
  // Refused operations may carry a name that is too long, and only they.
  auto possible = [&](std::string_view name) { return plausible_component(name) && (name.size() <= 255 || !done); };
  if (traits & kHasName && !possible(op.name)) return false;
  if (traits & kHasName2 && !possible(op.name2)) return false;
  return !(traits & kHasXattr) || (!op.name.empty() && op.name.find('\0') == std::string_view::npos);
}

bool texts_possible(const Op& op) {
  if (op.who && op.who->command.size() > kMostCommand) return false;
  if (op.kind != OpKind::symlink && op.kind != OpKind::readlink) return true;
  return op.data.size() <= kMostTarget && op.data.find('\0') == std::string_view::npos;
}

bool fits_file(uint64_t offset, uint64_t length) { return offset <= kMostOffset && length <= kMostOffset - offset; }

// A failed operation may have asked for anything, except for a read or write: its data are made before it is known to fail.
bool lengths_possible(const Op& op, bool done) {
  switch (op.kind) {
    case OpKind::read:
    case OpKind::write:
      return op.length <= kMostTransfer && (!done || (op.result <= op.length && fits_file(op.offset, op.result)));
    case OpKind::copy_file_range:
      return !done || (op.result <= op.length && fits_file(op.offset, op.result) && fits_file(op.offset2, op.result));
    case OpKind::fallocate:
      return !done || fits_file(op.offset, op.length);
    case OpKind::readdir:
    case OpKind::readdirplus:
      return !done || op.result <= UINT32_MAX;
    case OpKind::setxattr:
      return !done || op.length <= kMostXattr;
    case OpKind::getxattr:
    case OpKind::listxattr:
      return !done || op.result <= kMostXattr;
    case OpKind::lseek:
      return !done || op.result <= kMostOffset;
    default:
      return true;
  }
}

bool time_possible(int64_t ns) { return ns >= -kMostTime && ns <= kMostTime; }

bool ids_possible(const Op& op) {
  for (uint64_t id : {op.object, op.parent, op.parent2, op.object2, op.handle, op.handle2})
    if (id > kMostId) return false;
  return true;
}

}  // namespace

bool size_possible(const Attr* attr) { return !attr || !(attr->valid & kAttrSize) || attr->size <= kMostOffset; }

bool plausible_component(std::string_view name) {
  if (valid_component(name)) return true;
  return name.size() > 255 && name.size() <= kMostLongName && valid_component(name.substr(0, 255)) &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

const char* impossible_part(const Op& op, bool outcome_known) {
  const bool done = outcome_known && op.error == 0;
  if (!time_possible(op.start) || op.duration < 0 || op.duration > kMostTime) return "times";
  if (!ids_possible(op)) return "ids";
  if (!names_possible(op, done)) return "names";
  if (!texts_possible(op)) return "texts";
  if (op.error < 0 || op.error > kMostError) return "errors";
  if (!lengths_possible(op, done)) return "lengths";
  if (!size_possible(op.attr) || (done && !size_possible(op.set))) return "sizes";
  return nullptr;
}

}  // namespace fsr
