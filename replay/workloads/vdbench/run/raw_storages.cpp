// SPDX-License-Identifier: Apache-2.0
// Opens, reopens and syncs SDs.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "targets/blocking_session.hpp"
#include "targets/file/direct_io.hpp"
#include "workloads/vdbench/run/luns.hpp"
#include "workloads/vdbench/run/raw_runs.hpp"

namespace fsr::vdbench {

namespace {

constexpr ObjectId kStorageObject = 2;
constexpr HandleId kStorageHandle = 1;
constexpr uint64_t kMiB = 1 << 20;

[[noreturn]] void fail_too_small(const Storage& storage, uint64_t size) {
  throw_error("{} has {} bytes, but size= requires {}", storage.lun, size, storage.size);
}

// Returns why a work's transfers are other requests, or not O_DIRECT. Empty: they are as requested, or not local.
std::string change_of(const RawWork& work, const Storage& storage, bool device, bool direct) {
  const bool splits = work.workload.transfers.largest() > kPiece && (device || work.workload.read_percent > 0);
  if (!direct && !splits) return {};
  const UniqueFd fd(::open(local_path(storage.lun).c_str(), O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0)));
  if (!fd) return errno == EINVAL ? "the file is used without O_DIRECT, because its file system has no O_DIRECT" : "";
  const uint64_t unit = work.unit(storage), block = direct ? direct_block(fd.get()) : 1;
  if (unit % block)
    return fmt::format("transfers are multiples of {} bytes, but O_DIRECT requires multiples of {}: {}", unit, block,
                       device ? "fsbench widens each to whole blocks, and reads these blocks before a write"
                              : "the kernel refuses other transfers, or performs them without O_DIRECT");
  return splits ? fmt::format("transfers of more than {} are split into several requests", size_text(double(kPiece))) : "";
}

}  // namespace

void RawRuns::open_one(const Storage& storage, bool writes, OpenStorage& opened) {
  opened.settings = &storage;
  check_lun(storage);  // once more, because mount= may have made a directory
  const bool raw = is_block_device(storage.lun) || storage.lun.starts_with("raw:");
  if (raw) {
    const bool formats = definitions_.general.formats_storages == true;
    writes |= formats;
    if (formats) to_format_.push_back(storages_.size());
    const std::string path = storage.lun.starts_with("raw:") ? storage.lun : "raw:" + storage.lun;
    const std::string url = path + "?whole=1" + (writes ? "" : "&ro=1");
    opened.target_index = add_target(url, force_);
    opened.device = true;
    opened.object = kStorageObject;
    opened.size = targets_.back()->space().total;
    if (storage.size > opened.size) fail_too_small(storage, opened.size);
  } else {
    const auto [directory, name] = split_lun(storage.lun);
    opened.target_index = add_target(directory);
    BlockingSession session(*targets_.back(), clock_);
    const Outcome& found =
        session.perform({.kind = OpKind::lookup, .object = kStorageObject, .parent = kRootObject, .name = name});
    const bool missing = found.error == ENOENT;
    if (found.error && !missing) throw_error("{}: {}", storage.lun, strerror(found.error));
    if (!missing && !S_ISREG(found.attr.mode)) throw std::runtime_error(storage.lun + ": is neither a file nor a block device");
    opened.size = missing ? 0 : found.attr.size;
    opened.object = kStorageObject;
    opened.handle = kStorageHandle;
    if (const unsigned maker = hosts_.ranks_of(storage.hosts)[0]; missing && maker != ranks_.cluster().rank())
      throw_error("{}: does not exist here, but rank {} created this file; use a file that all ranks share", storage.lun, maker);
    if (missing && storage.size == 0) throw std::runtime_error(storage.lun + ": does not exist; give size= to create the file");
    const auto formats = definitions_.general.formats_storages;
    const bool grows = storage.size > opened.size || (formats == true && !missing);
    if (grows && formats == false)
      throw_error("{}: is missing or smaller than size={}, and formatsds=no", storage.lun, storage.size);
    if (storage.size > opened.size && is_below_dev(storage.lun)) fail_too_small(storage, opened.size);
    if (storage.size > opened.size && storage.size % kMiB)
      throw_error("size={}: expected a multiple of 1m for a file that is created", storage.size);
    Op op{.kind = missing ? OpKind::create : OpKind::open, .mode = 0644};
    opened.access = uint32_t(writes || grows ? O_RDWR : O_RDONLY);
    opened.flags = storage.flags.flags;
    op.open_flags = opened.flags | opened.access | (missing ? uint32_t(O_CREAT) : 0);
    op.object = kStorageObject;
    op.handle = kStorageHandle;
    if (missing) {
      op.parent = kRootObject;
      op.name = name;
    }
    if (const int error = session.perform(op).error) throw_error("{}: {}", storage.lun, strerror(error));
    if (grows) {
      if (storage.size > opened.size)
        reports_.note(fmt::format("lun={} does not exist or is too small. host=localhost", storage.lun));
      to_format_.push_back(storages_.size());
      if (storage.size) opened.size = storage.size;
    }
  }
  if (storage.size) opened.size = storage.size;
}

// Reopens files whose flags change. A run has the flags of its RD, its WDs and their SDs. A device gets the flags with each
// write.
void RawRuns::reopen(const PlannedRun& run) {
  std::vector<size_t> changed;
  for (size_t i = 0; i < storages_.size(); ++i) {
    uint32_t flags = definitions_.storages[i].flags.flags;
    for (const RawWork& work : run.raw_works)
      if (run.works_on(work, i)) flags |= work.workload.flags.flags;
    if (!has(i) || storages_[i].device || storages_[i].flags == flags) continue;
    storages_[i].flags = flags;
    changed.push_back(i);
  }
  if (!ranks_.several() && changed.empty()) return;
  ranks_.cluster().on_all([&] {
    for (size_t i : changed) {
      const OpenStorage& storage = storages_[i];
      BlockingSession session(target_of(i), clock_);
      int error = session.perform({.kind = OpKind::release, .object = storage.object, .handle = storage.handle}).error;
      Op op{.kind = OpKind::open, .open_flags = storage.flags | storage.access};
      op.object = storage.object;
      op.handle = storage.handle;
      if (!error) error = session.perform(op).error;
      Op look{.kind = OpKind::getattr};
      look.object = storage.object;
      look.handle = storage.handle;
      const Outcome* found = error ? nullptr : &session.perform(look);
      if (found) error = found->error;
      const Storage& settings = definitions_.storages[i];
      if (error) throw_error("sd={}: {}: {}", settings.name, settings.lun, strerror(error));
      if (!run.formats && found->attr.size < storage.size)
        throw_error("sd={}: {} has {} bytes, but had {} before: another program changed the size between two runs", settings.name,
                    settings.lun, found->attr.size, storage.size);
    }
  });
}

// Reports once for each SD why its transfers are other requests than the file asks for.
void RawRuns::note_changes(const PlannedRun& run) {
  for (const RawWork& work : run.raw_works)
    for (size_t i = 0; i < storages_.size(); ++i) {
      if (!run.works_on(work, i) || !has(i)) continue;
      const Storage& storage = run.storages[i];
      const bool device = storages_[i].device, direct = (storages_[i].flags & O_DIRECT) || storage.lun.ends_with("?direct=1");
      const std::string why = change_of(work, storage, device, device || direct);
      if (!why.empty() && noted_.insert(storage.name + why).second) reports_.note(fmt::format("sd={}: {}", storage.name, why));
    }
}

// With openflags=fsync, syncs an SD that the run has written.
void RawRuns::sync(const PlannedRun& run, size_t i, ErrorLog& errors) {
  const OpenStorage& storage = storages_[i];
  const bool asked = has(i) && std::ranges::any_of(run.raw_works, [&](const RawWork& work) {
                       const bool is_to = storage.settings->flags.sync_at_close || work.workload.flags.sync_at_close ||
                                          run.run->flags.sync_at_close;
                       return is_to && work.workload.read_percent < 100 && run.works_on(work, i);
                     });
  if (!asked) return;
  BlockingSession session(target_of(i), clock_);
  const Outcome& done = session.perform({.kind = OpKind::fsync, .object = storage.object, .handle = storage.handle});
  if (done.error)
    errors.add(fmt::format("sd={} lun={} fsync: {}", storage.settings->name, storage.settings->lun, strerror(done.error)),
               {storage.settings->lun, 0, 0, done.error});
}

}  // namespace fsr::vdbench
