// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/files/format_threads.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace fsr::vdbench {

SimTask SurveyThread::run(SimContext& sim) {
  Anchor& anchor = shared_.anchor;
  const Structure& structure = anchor.structure();
  for (unsigned depth = 1; depth <= structure.depth() + 1; ++depth) {
    const bool files = depth > structure.depth();
    const uint64_t from = files ? 0 : structure.level(depth), to = files ? structure.files() : structure.level(depth + 1);
    for (;;) {
      const uint64_t n = from + shared_.next.fetch_add(1);
      if (n >= to || sim.ended()) break;
      if (files && !shared_.files.has(n)) continue;
      const uint64_t parent = files ? structure.directory_of(n) : structure.parent_of(n);
      if (!anchor.exists(parent)) continue;
      const std::string name = files ? structure.file_name(n) : structure.directory_name(n);
      const Op op{.kind = OpKind::lookup, .object = sim.new_object(), .parent = anchor.object_of_directory(parent), .name = name};
      const Outcome& found = co_await sim.perform(op);
      if (found.error) {
        int none = 0;
        if (found.error != ENOENT) shared_.error.compare_exchange_strong(none, found.error);
        continue;
      }
      if (files) {
        anchor.made(uint32_t(n), op.object);
        uint64_t size = found.attr.size;
        anchor.file(uint32_t(n)).longer = size > structure.size_of(n);
        // A file may be longer than its structure says. Only the part within its structure has keys.
        if (const ValidatedStorage* v = anchor.validated())
          size = std::min(size, structure.size_of(n)) / v->keys.unit() * v->keys.unit();
        anchor.resized(uint32_t(n), size);
      } else {
        anchor.made_directory(n, op.object);
      }
    }
    if (!co_await sim.arrive(shared_.levels)) co_return;
    shared_.next = 0;
    if (!co_await sim.arrive(shared_.levels)) co_return;
  }
}

namespace {

constexpr uint64_t kBuffer = 65536;  // bytes of a listing

// True for names that the original's clean-up removes.
bool is_own(std::string_view name) {
  return name.starts_with("vdb") && (name.ends_with(".dir") || name.ends_with(".file") || name.ends_with(".file.gz"));
}

}  // namespace

void CleanThread::failed(const std::string& path, int error) {
  if (failure.empty()) failure = fmt::format("{}: can't remove {}: {}", anchor_.name(), path, strerror(error));
}

Task CleanThread::remove(SimContext& sim, ObjectId parent, const std::string& name, const std::string& path) {
  const Op look{.kind = OpKind::lookup, .object = sim.new_object(), .parent = parent, .name = name};
  const Outcome& found = co_await sim.perform(look);
  if (found.error == ENOENT) co_return 0;
  if (found.error) {
    failed(path, found.error);
    co_return 0;
  }
  const bool directory = S_ISDIR(found.attr.mode);
  if (directory) co_await empty(sim, look.object, path, false);
  const OpKind kind = directory ? OpKind::rmdir : OpKind::unlink;
  const Op op{.kind = kind, .object = look.object, .parent = parent, .name = name};
  if (int error = (co_await sim.perform(op)).error)
    failed(path, error);
  else
    ++(directory ? directories : files);
  co_return 0;
}

// Removes the entries of a directory. `share`: divides them among the threads.
Task CleanThread::empty(SimContext& sim, ObjectId directory, const std::string& path, bool share) {
  std::vector<std::string> names;
  const HandleId handle = sim.new_handle();
  const Op open{.kind = OpKind::opendir, .object = directory, .handle = handle};
  if (int error = (co_await sim.perform(open)).error) {
    failed(path, error);
    co_return 0;
  }
  for (uint64_t cursor = 0;;) {
    const Op read{.kind = OpKind::readdir, .object = directory, .handle = handle, .offset = cursor, .length = kBuffer};
    const Outcome& listed = co_await sim.perform(read);
    if (listed.error || listed.entries.empty()) break;
    for (const DirEntry& entry : listed.entries)
      if (is_own(entry.name)) names.emplace_back(entry.name);
    cursor += listed.entries.size();
  }
  const Op close{.kind = OpKind::releasedir, .object = directory, .handle = handle};
  co_await sim.perform(close);
  for (const std::string& name : names) {
    if (sim.ended()) break;
    if (share && std::hash<std::string>()(name) % threads_ != number_) continue;
    std::string below = path;
    if (!below.empty()) below += '/';
    below += name;
    co_await remove(sim, directory, name, below);
  }
  co_return 0;
}

SimTask CleanThread::run(SimContext& sim) {
  const std::string path;
  co_await empty(sim, anchor_.root, path, true);
}

namespace {

constexpr int64_t kLookAgain = 200'000;  // ns between checks for directories that another rank makes

}  // namespace

Task FormatThread::make_file(SimContext& sim, uint32_t file) {
  const uint64_t size = anchor_.structure().size_of(file), unit = settings().transfers.largest();
  const Anchor::File& its = anchor_.file(file);
  if (its.exists && its.current == size) {
    ++events_[kFileMayNotExist];
    co_return 0;
  }
  const bool makes = !its.exists;
  const int64_t from = sim.now();
  Open opened;
  anchor_.claim(file, true);  // no other thread has this file
  if (co_await open(sim, anchor_, file, false, true, &opened)) co_return 0;
  for (uint64_t offset = its.current / unit * unit; offset < size && !sim.ended();) {
    const uint64_t length = std::min(unit, size - offset);
    const Op write{.kind = OpKind::write, .object = its.object, .handle = opened.handle, .offset = offset, .length = length};
    const int error = co_await transfer_some(sim, write, file, 0);
    if (error == Validator::kOver) break;
    if (error) {
      failed_transfer(write, anchor_, file, error);
      break;
    }
    anchor_.resized(file, offset += length);
  }
  co_await close(sim, anchor_, opened);
  if (makes) sim.count(row(Operation::create), {.due = from, .from = from, .to = sim.now()});
  co_return 0;
}

Task FormatThread::make_directories(SimContext& sim) {
  const Structure& structure = anchor_.structure();
  if (shared_.report_made) {
    for (unsigned depth = 1; depth <= structure.depth(); ++depth) {
      for (uint64_t d = structure.level(depth) + turn_; d < structure.level(depth + 1) && !sim.ended(); d += shared_.threads) {
        if (anchor_.exists(d))
          ++events_[kDirExists];
        else
          co_await make_directory(sim, d, 0);
      }
      const bool together = co_await sim.arrive(shared_.levels);
      if (!together) co_return ECANCELED;
    }
    shared_.report_made();
    co_return 0;
  }
  while (!shared_.made()) {
    co_await sim.until(sim.now() + kLookAgain);
    if (sim.ended()) co_return ECANCELED;
  }
  for (uint64_t d = turn_; d < structure.directories(); d += shared_.threads)
    if (!anchor_.exists(d)) anchor_.made_directory(d, kNoObject);
  const bool together = co_await sim.arrive(shared_.levels);
  co_return together ? 0 : ECANCELED;
}

SimTask FormatThread::run(SimContext& sim) {
  if (format_.clean) co_return;  // old files were removed before
  const int error = co_await make_directories(sim);
  if (error || format_.directories) co_return;
  const std::vector<uint32_t>& used = anchor_.chosen();
  for (uint64_t n; (n = shared_.next.fetch_add(1)) < used.size() && !sim.ended();) co_await make_file(sim, used[n]);
}

}  // namespace fsr::vdbench
