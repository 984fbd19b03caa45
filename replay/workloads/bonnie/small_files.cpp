// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/small_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/target.hpp"
#include "threads/sim_context.hpp"

namespace fsr::bonnie {

int SmallFiles::fail(const char* what, const std::string& name, int error) {
  return run_.fail(phase_, fmt::format("can't {} {}", what, name), error);
}

Task SmallFiles::make_directory(ObjectId parent, const std::string& name, ObjectId* made) {
  const Op op{.kind = OpKind::mkdir, .mode = 0700 & ~run_.umask, .object = sim_.new_object(), .parent = parent, .name = name};
  if (int error = (co_await sim_.perform(op)).error) co_return fail("make directory", name, error);
  *made = op.object;
  co_return 0;
}

Task SmallFiles::open_directory(ObjectId directory, HandleId* handle) {
  const Op op{.kind = OpKind::opendir, .open_flags = O_RDONLY | O_DIRECTORY, .object = directory, .handle = sim_.new_handle()};
  if (int error = (co_await sim_.perform(op)).error) co_return fail("open", "a directory", error);
  *handle = op.handle;
  co_return 0;
}

Task SmallFiles::close_directory(ObjectId directory, HandleId* handle) {
  if (*handle == 0) co_return 0;
  const Op op{.kind = OpKind::releasedir, .object = directory, .handle = *handle};
  *handle = 0;
  const int error = (co_await sim_.perform(op)).error;
  co_return error ? fail("close", "a directory", error) : 0;
}

Task SmallFiles::make_directories() {
  if (int error = co_await make_directory(kRootObject, run_.name, &top_)) co_return error;
  const int64_t count = run_.settings.directories;
  if (count == 1) directories_.push_back({.name = run_.name, .object = top_});
  for (int64_t i = 0; count > 1 && i < count; ++i) {
    Directory directory{.name = fmt::format("{:05}", i)};
    if (int error = co_await make_directory(top_, directory.name, &directory.object)) co_return error;
    directories_.push_back(directory);
  }
  for (Directory& directory : directories_)
    if (run_.settings.syncs)
      if (int error = co_await open_directory(directory.object, &directory.to_sync)) co_return error;
  co_return 0;
}

Task SmallFiles::remove_directory(unsigned number) {
  Directory& directory = directories_[number];
  int error = co_await close_directory(directory.object, &directory.to_sync);
  if (error || directory.object == top_ || directory.object == kNoObject) co_return error;
  const Op op{.kind = OpKind::rmdir, .object = directory.object, .parent = top_, .name = directory.name};
  error = (co_await sim_.perform(op)).error;
  if (error) co_return fail("remove directory", directory.name, error);
  directory.object = kNoObject;
  co_return 0;
}

Task SmallFiles::remove_top() {
  if (int error = co_await may_search(top_, 0, run_.name)) co_return error;
  const Op op{.kind = OpKind::rmdir, .object = top_, .parent = kRootObject, .name = run_.name};
  if (int error = (co_await sim_.perform(op)).error) co_return fail("remove directory", run_.name, error);
  top_ = kNoObject;
  directories_.clear();
  co_return 0;
}

// A target that lacks this request needs no sync.
Task SmallFiles::sync_everything() {
  const Op op{.kind = OpKind::syncfs, .object = kRootObject};
  const int error = (co_await sim_.perform(op)).error;
  co_return error&& error != EOPNOTSUPP ? fail("sync", "the file system", error) : 0;
}

Task SmallFiles::sync_directory(unsigned directory) {
  const Directory& d = directories_[directory];
  const Op op{.kind = OpKind::fsyncdir, .object = d.object, .handle = d.to_sync};
  const int error = (co_await sim_.perform(op)).error;
  co_return error ? fail("sync directory", d.name, error) : 0;
}

Op SmallFiles::creation() const {
  return {.kind = OpKind::create, .mode = 0600 & ~run_.umask, .open_flags = O_CREAT | O_EXCL | O_WRONLY};
}

void SmallFiles::aim_creation(Op& op, unsigned directory, std::string_view name, int64_t size, bool by_name) const {
  aim(op, directory, name, by_name ? kNoObject : sim_.new_object());
  op.handle = size > 0 || run_.settings.syncs ? sim_.new_handle() : 0;  // 0: the target closes the file at once
}

void SmallFiles::aim(Op& op, unsigned directory, std::string_view name, ObjectId known) const {
  op.object = known;
  op.parent = directories_[directory].object;
  op.name = name;
}

bool SmallFiles::is_complete(const Op& op, const Outcome& outcome) const {
  if (outcome.error) return false;
  const Attr& attr = outcome.attr;
  if (op.kind == OpKind::lookup) return (attr.valid & kAttrSize) && attr.size == 0 && !S_ISLNK(attr.mode);
  return op.kind == OpKind::create ? op.handle == 0 : !run_.settings.syncs;
}

Task SmallFiles::complete(const Op& op, const Outcome& outcome, unsigned directory, int64_t size) {
  const std::string name(op.name);
  if (op.kind == OpKind::lookup) co_return co_await look_on(directory, name, op.object, outcome);
  const bool creates = op.kind == OpKind::create;
  if (outcome.error) co_return fail(creates ? "create file" : "delete file", name, outcome.error);
  if (creates) co_return co_await fill(op, directory, name, size);
  co_return co_await sync_directory(directory);
}

// Writes and closes a file that was created.
Task SmallFiles::fill(const Op& op, unsigned directory, const std::string& name, int64_t size) {
  int error = 0;
  for (int64_t at = 0; at < size && error == 0; at += int64_t(buffer_.size())) {
    const uint64_t length = std::min(uint64_t(size - at), uint64_t(buffer_.size()));
    const Op write{.kind = OpKind::write, .object = op.object, .handle = op.handle, .offset = uint64_t(at), .length = length};
    const Outcome& outcome = co_await sim_.perform(write, kUncounted, {.payload = {buffer_.data(), length}});
    error = outcome.error ? outcome.error : outcome.result != length ? ENOSPC : 0;
  }
  if (error == 0 && run_.settings.syncs) {
    const Op sync{.kind = OpKind::fsync, .object = op.object, .handle = op.handle};
    error = (co_await sim_.perform(sync)).error;
    if (error == 0) error = co_await sync_directory(directory);
  }
  const Op close{.kind = OpKind::release, .object = op.object, .handle = op.handle};
  const int closed = (co_await sim_.perform(close)).error;
  if (error == 0) error = closed;
  co_return error ? fail("write file", name, error) : 0;
}

Task SmallFiles::link(ObjectId file, unsigned directory, std::string_view name) {
  const Op op{.kind = OpKind::link, .object = file, .parent2 = directories_[directory].object, .name2 = name};
  if (int error = (co_await sim_.perform(op)).error) co_return fail("create link", std::string(name), error);
  if (!run_.settings.syncs) co_return 0;
  co_return co_await sync_directory(directory);
}

Task SmallFiles::symlink(std::string_view target, unsigned directory, std::string_view name, ObjectId* made) {
  first_ = target;
  // The original leaves out the directory, so that symlinks in other directories lead nowhere and its next test fails.
  const std::string path = directory == first_directory_ ? first_ : "../" + directories_[first_directory_].name + "/" + first_;
  const Op op{
      .kind = OpKind::symlink, .object = sim_.new_object(), .parent = directories_[directory].object, .name = name, .data = path};
  if (int error = (co_await sim_.perform(op)).error) co_return fail("create symlink", std::string(name), error);
  *made = op.object;
  if (!run_.settings.syncs) co_return 0;
  co_return co_await sync_directory(directory);
}

// Follows a symlink as the kernel does for stat(2).
Task SmallFiles::follow(ObjectId symlink, uint64_t* size) {
  const Op read{.kind = OpKind::readlink, .object = symlink};
  if (int error = (co_await sim_.perform(read)).error) co_return error;
  const Op lookup{
      .kind = OpKind::lookup, .object = sim_.new_object(), .parent = directories_[first_directory_].object, .name = first_};
  const Outcome& outcome = co_await sim_.perform(lookup, kUncounted, {.want_attr = true});
  *size = outcome.attr.size;
  co_return outcome.error;
}

// Goes on after a lookup: reads the file if it is not empty. `seen` is the outcome of the lookup.
Task SmallFiles::look_on(unsigned directory, const std::string& name, ObjectId known, Outcome seen) {
  const bool empty = (seen.attr.valid & kAttrSize) && seen.attr.size == 0;
  Op op{.kind = OpKind::lookup};
  aim(op, directory, name, known ? known : sim_.new_object());
  if (seen.error == 0 && !empty && !known) seen = co_await sim_.perform(op, kUncounted, {.want_attr = true});
  if (seen.error == 0 && !(seen.attr.valid & kAttrSize)) {
    const Op getattr{.kind = OpKind::getattr, .object = op.object};
    seen = co_await sim_.perform(getattr);
  }
  uint64_t size = seen.attr.size;
  if (seen.error == 0 && S_ISLNK(seen.attr.mode)) seen.error = co_await follow(op.object, &size);
  if (seen.error) co_return fail("stat file", name, seen.error);
  if (size == 0) co_return 0;
  co_return co_await read(name, op.object, size);
}

Task SmallFiles::read(const std::string& name, ObjectId object, uint64_t size) {
  const Op open{.kind = OpKind::open, .open_flags = O_RDONLY, .object = object, .handle = sim_.new_handle()};
  if (int error = (co_await sim_.perform(open)).error) co_return fail("open file", name, error);
  int error = 0;
  for (uint64_t at = 0; at < size && error == 0; at += buffer_.size()) {
    const uint64_t length = std::min<uint64_t>(size - at, buffer_.size());
    const Op op{.kind = OpKind::read, .object = object, .handle = open.handle, .offset = at, .length = length};
    const Outcome& outcome = co_await sim_.perform(op, kUncounted, {.want_data = true});
    error = outcome.error ? outcome.error : outcome.result != length ? ENODATA : 0;
  }
  const Op close{.kind = OpKind::release, .object = object, .handle = open.handle};
  const int closed = (co_await sim_.perform(close)).error;
  if (error == 0) error = closed;
  co_return error ? fail("read file", name, error) : 0;
}

// Asks whether a directory may be searched, as chdir(2) does to enter it, and to leave it by "..". A target that lacks this
// request has no such right. A client that refuses it without asking its server may be wrong; the next request shows it.
Task SmallFiles::may_search(ObjectId directory, HandleId handle, const std::string& name) {
  const Op op{.kind = OpKind::access, .mode = X_OK, .object = directory, .handle = handle};
  const int error = (co_await sim_.perform(op)).error;
  if (error == 0 || error == EOPNOTSUPP || error == EACCES) co_return 0;
  co_return fail("search directory", name, error);
}

// The original changes to a subdirectory. It opens the directory by opendir(3), which also asks for the attributes.
Task SmallFiles::begin_list(unsigned directory) {
  Directory& d = directories_[directory];
  d.listed = 0;
  if (int error = co_await open_directory(d.object, &d.to_list)) co_return error;
  if (d.object != top_)
    if (int error = co_await may_search(d.object, d.to_list, d.name)) co_return error;
  const Op getattr{.kind = OpKind::getattr, .object = d.object, .handle = d.to_list};
  const int error = (co_await sim_.perform(getattr)).error;
  co_return error ? fail("stat directory", d.name, error) : 0;
}

Task SmallFiles::list(unsigned directory, std::vector<std::string>* names) {
  constexpr uint64_t kBuffer = 32768;  // bytes, as readdir(3) uses
  Directory& d = directories_[directory];
  const Op op{.kind = OpKind::readdir, .object = d.object, .handle = d.to_list, .offset = d.listed, .length = kBuffer};
  const Outcome& outcome = co_await sim_.perform(op);
  if (outcome.error) co_return fail("list directory", d.name, outcome.error);
  d.listed += outcome.entries.size();
  names->resize(outcome.entries.size());  // the strings of the part before keep their memory
  for (size_t i = 0; i < names->size(); ++i) (*names)[i] = outcome.entries[i].name;
  co_return 0;
}

Task SmallFiles::end_list(unsigned directory) {
  Directory& d = directories_[directory];
  if (d.object != top_)
    if (int error = co_await may_search(d.object, d.to_list, d.name)) co_return error;
  co_return co_await close_directory(d.object, &d.to_list);
}

}  // namespace fsr::bonnie
