// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "workloads/vdbench/files/tree_threads.hpp"

namespace fsr::vdbench {

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

}  // namespace fsr::vdbench
