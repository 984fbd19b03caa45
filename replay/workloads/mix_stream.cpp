// SPDX-License-Identifier: Apache-2.0
#include "workloads/mix_stream.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace fsr {

namespace {

constexpr uint64_t kListingBytes = 8192, kPlusBytes = 32768;  // buffer of a listing; one request, if the server allows that
constexpr uint64_t kLockBytes = 1024, kAllocation = 65536;
constexpr uint64_t kReadAtEnd = 4096;  // bytes requested of an empty range
constexpr int64_t kMostExcess = 40;    // names of a kind beyond the usual number

constexpr int64_t kMostNew = 4000;  // files beyond the usual number if a create of an existing file would not send a CREATE

constexpr size_t kMostOpen = 60;
constexpr size_t kMostOpenOnce = kOpenFiles - 1;  // open files if none may be open twice
constexpr size_t kKeptOpen = 4;                   // open files of a version 4 load that closes leave open

}  // namespace

MixStream::MixStream(const StreamFiles& files, const SizeModel& sizes, const MixPlan& plan, Random random, ObjectId& next_object,
                     HandleId& next_handle)
    : files_(files),
      sizes_(sizes),
      removes_(plan_removes(plan)),
      past_cache_(plan.past_cache),
      random_(random),
      next_object_(next_object),
      next_handle_(next_handle) {
  const MixTraits& traits = plan.traits;
  auto stock = [](SparePool& pool, const std::vector<Spare>& from, uint64_t below) {
    pool.there.assign(from.begin(), from.end());
    pool.usual = from.size();
    pool.last = below + from.size();
  };
  stock(spare_files_, files.spare_files, kOpenFiles - 1);
  stock(links_, files.spare_links, 0);
  stock(symlinks_, files.spare_symlinks, 0);
  stock(directories_, files.spare_directories, 0);
  for (size_t i = 0; i < files.opened.size(); ++i)
    opened_.push_back({files.files[files.first_to_open + i].object, files.opened[i]});
  by_size_.resize(files.files.size());
  for (uint32_t i = 0; i < by_size_.size(); ++i) by_size_[i] = i;
  std::stable_sort(by_size_.begin(), by_size_.end(),
                   [&](uint32_t a, uint32_t b) { return files.files[a].size < files.files[b].size; });
  positions_.resize(files.files.size());
  if (traits.reads.known()) read_places_.emplace(traits.reads, files, by_size_, positions_, Random(random_.next()));
  if (traits.writes.known()) write_places_.emplace(traits.writes, files, by_size_, positions_, Random(random_.next()));
  if (traits.failed_lookups) {
    const double shares[] = {1 - *traits.failed_lookups, *traits.failed_lookups};
    lookups_.emplace(shares, Random(random_.next()));
  }
}

uint64_t MixStream::entries() const {  // names in the stream's directory
  return kOpenFiles + spare_files_.there.size() + pipes_.there.size() + files_.folders.size() + 4;
}

// Number of removable names beyond their usual number.
int64_t MixStream::all_excess() const { return spare_files_.excess() + links_.excess() + symlinks_.excess() + pipes_.excess(); }

// Returns the kind of names that has grown most beyond its usual number. Null: nothing may be removed. One symlink always remains
// for readlink.
MixStream::SparePool* MixStream::fullest(bool directories) {
  SparePool* most = nullptr;
  auto look = [&](SparePool& pool, size_t least) {
    if (pool.there.size() > least && (!most || pool.excess() > most->excess())) most = &pool;
  };
  look(spare_files_, 0);
  look(links_, 0);
  look(symlinks_, 1);
  look(pipes_, 0);
  if (directories) look(directories_, 0);
  return most;
}

bool MixStream::playable(Action action) const {
  switch (action) {
    case Action::readlink:
      return !symlinks_.there.empty();
    case Action::remove:
      return const_cast<MixStream*>(this)->fullest(false) != nullptr;
    case Action::remove_any:
      return const_cast<MixStream*>(this)->fullest(true) != nullptr;
    case Action::rmdir:
      return !directories_.there.empty();
    // Not far beyond the usual number; otherwise another stream has to issue the call.
    case Action::link:
      return links_.excess() < kMostExcess;
    case Action::symlink:
      return symlinks_.excess() < kMostExcess;
    case Action::mknod:
      return pipes_.excess() < kMostExcess;
    case Action::mkdir:
    case Action::make:
      return directories_.excess() < kMostExcess;
    case Action::open:
      return opened_.size() < (files_.first_to_open ? kMostOpenOnce : kMostOpen);
    case Action::close:
      return opened_.size() > kKeptOpen;
    default:
      return true;
  }
}

void MixStream::subject(Op& op, const WorkingFile& file) {
  op.object = file.object;
  op.handle = file.handle;
}

void MixStream::name(Op& op, Arena& arena, ObjectId parent, std::string_view text) {
  op.parent = parent;
  op.name = arena.copy(text);
}

MixStream::Progress MixStream::begin(bool writes) {
  const CallSizes t = writes ? sizes_.write(random_) : sizes_.read(random_);
  Progress p;
  p.block = t.block;
  if (t.whole) {
    p.file = uint32_t(random_.below(files_.files.size()));
    p.end = files_.files[p.file].size;
    return p;
  }
  // Choose among the files that are long enough, so that no size ever changes. There is a file for the longest transfer.
  const uint64_t length = std::min(t.length, sizes_.longest());
  auto from = std::lower_bound(by_size_.begin(), by_size_.end(), length,
                               [&](uint32_t i, uint64_t bytes) { return files_.files[i].size < bytes; });
  p.file = from[ptrdiff_t(random_.below(uint64_t(by_size_.end() - from)))];
  const uint64_t room = files_.files[p.file].size - length;
  p.at = random_.below(room / p.block + 1) * p.block;
  p.end = p.at + length;
  return p;
}

// Fills in the next call of a transfer, or the first call of a new one.
void MixStream::transfer(Op& op, Progress& progress, bool writes) {
  if (progress.at >= progress.end) progress = begin(writes);
  op.kind = writes ? OpKind::write : OpKind::read;
  subject(op, files_.files[progress.file]);
  op.offset = progress.at;
  op.length = op.result = std::min<uint64_t>(progress.block, progress.end - progress.at);
  progress.at += op.length;
  if (writes) written_ = progress.file;
}

void MixStream::transfer(Op& op, TransferPlaces& places, bool writes) {
  const TransferPlaces::TransferRange place = places.next();
  op.kind = writes ? OpKind::write : OpKind::read;
  subject(op, files_.files[place.file]);
  op.offset = place.at;
  op.length = place.bytes ? place.bytes : kReadAtEnd;
  op.result = place.bytes;
  if (writes) written_ = place.file;
}

// A missing name is a new one each time, so that no client has it in its cache.
void MixStream::lookup(Op& op, Arena& arena) {
  op.kind = OpKind::lookup;
  if (lookups_ && lookups_->deal([](unsigned) { return true; }, 0) == 1) {
    op.error = ENOENT;
    name(op, arena, files_.directory, fmt::format("none{:03}", ++missing_));
    return;
  }
  const WorkingFile& file = any_file();
  op.object = file.object;
  name(op, arena, file.parent, file.name);
}

void MixStream::make(Op& op, Arena& arena, OpKind kind, SparePool& pool, ObjectId parent, std::string_view suffix) {
  op.kind = kind;
  op.object = next_object_++;
  Spare& spare = pool.there.emplace_back();
  spare = {op.object, parent, fmt::format("{:03}{}", ++pool.last, suffix)};
  name(op, arena, parent, spare.name);
}

void MixStream::create(Op& op, Arena& arena, bool open) {
  // If the name exists, a client with a cache sends another request than CREATE.
  const bool wanted = removes_ && all_excess() < (past_cache_ ? kMostNew : kMostExcess / 2);
  op.open_flags = O_CREAT | O_TRUNC | O_RDWR;
  op.mode = S_IFREG | kFileMode;
  if (open) op.handle = next_handle_++;
  if (wanted || spare_files_.there.empty()) {
    op.op_flags = kOpCreated;
    make(op, arena, OpKind::create, spare_files_, files_.directory, kFileSuffix);
  } else {
    op.kind = OpKind::create;
    const Spare& spare = spare_files_.there[random_.below(spare_files_.there.size())];
    op.object = spare.object;
    name(op, arena, spare.parent, spare.name);
  }
}

void MixStream::remove_from(Op& op, Arena& arena, SparePool& pool, OpKind kind) {
  op.kind = kind;
  const Spare& spare = pool.there.front();
  op.object = spare.object;
  name(op, arena, spare.parent, spare.name);
  pool.there.pop_front();
  if (&pool == &symlinks_ && next_link_ > 0) --next_link_;
}

void MixStream::remove(Op& op, Arena& arena, bool directories) {
  SparePool* pool = fullest(directories);
  remove_from(op, arena, *pool, pool == &directories_ ? OpKind::rmdir : OpKind::unlink);
}

void MixStream::link(Op& op, Arena& arena) {
  Spare& spare = links_.there.emplace_back();
  spare = {files_.linked, files_.links, fmt::format("{:03}", ++links_.last)};
  op.kind = OpKind::link;
  op.object = files_.linked;
  op.parent2 = files_.links;
  op.name2 = arena.copy(spare.name);
}

void MixStream::rename(Op& op, Arena& arena) {
  op.kind = OpKind::rename;
  op.object = files_.renamed;
  op.parent = op.parent2 = files_.directory;
  op.name = renamed_ ? "rename2" : "rename1";
  op.name2 = renamed_ ? "rename1" : "rename2";
  renamed_ = !renamed_;
}

// Version 4 has no CREATE of files. An OPEN makes files, if more are needed for removes.
void MixStream::open(Op& op, Arena& arena) {
  if (removes_ && spare_files_.excess() < 0) {
    create(op, arena, true);
  } else {
    op.kind = OpKind::open;
    op.object = to_open();
    op.handle = next_handle_++;
    op.open_flags = O_RDWR;
  }
  opened_.push_back({op.object, op.handle});
}

// Returns a file for a version 4 OPEN. Past a cache, none that is open.
ObjectId MixStream::to_open() {
  auto is_open = [&](ObjectId object) {
    return std::any_of(opened_.begin(), opened_.end(), [&](const OpenedFile& o) { return o.object == object; });
  };
  size_t i = random_.below(kOpenFiles);
  if (files_.first_to_open)
    while (is_open(files_.files[files_.first_to_open + i].object)) i = (i + 1) % kOpenFiles;
  return files_.files[files_.first_to_open + i].object;
}

void MixStream::close(Op& op) {
  op.kind = OpKind::release;
  op.object = opened_.front().object;
  op.handle = opened_.front().handle;
  opened_.pop_front();
}

void MixStream::list(Op& op, OpKind kind) {
  op.kind = kind;
  op.object = files_.directory;
  op.handle = files_.listing;
  op.length = kind == OpKind::readdir ? kListingBytes : kPlusBytes;
  op.result = entries();
}

void MixStream::lock(Op& op, OpKind kind, uint32_t mode) {
  const WorkingFile& file = open_file();
  op.kind = kind;
  subject(op, file);
  op.owner = files_.thread;
  op.offset = random_.below(file.size);
  op.length = kLockBytes;
  op.mode = mode;
}

void MixStream::run(Action action, Op& op, Arena& arena) {
  op.thread = files_.thread;
  auto on = [&](OpKind kind, const WorkingFile& file) {
    op.kind = kind;
    subject(op, file);
  };
  switch (action) {
    case Action::null:
      op.kind = OpKind::null;
      break;
    case Action::getattr:
      on(OpKind::getattr, any_file());
      break;
    case Action::setattr: {
      on(OpKind::setattr, any_file());
      Attr* set = arena.make<Attr>();
      set->valid = kAttrMode;
      set->mode = kFileMode;
      op.set = set;
      break;
    }
    case Action::lookup:
      lookup(op, arena);
      break;
    case Action::access:
      op.kind = OpKind::access;
      op.object = any_file().object;
      op.mode = R_OK | W_OK;
      break;
    case Action::readlink:
      op.kind = OpKind::readlink;
      op.object =
          symlinks_.there[(past_cache_ ? next_link_++ : random_.below(symlinks_.there.size())) % symlinks_.there.size()].object;
      op.data = kLinkText;
      break;
    case Action::read:
      read_places_ ? transfer(op, *read_places_, false) : transfer(op, reading_, false);
      break;
    case Action::write:
      write_places_ ? transfer(op, *write_places_, true) : transfer(op, writing_, true);
      break;
    case Action::create:
      create(op, arena, false);
      break;
    case Action::remove:
      remove(op, arena, false);
      break;
    case Action::remove_any:
      remove(op, arena, true);
      break;
    case Action::rename:
      rename(op, arena);
      break;
    case Action::link:
      link(op, arena);
      break;
    case Action::symlink:
      make(op, arena, OpKind::symlink, symlinks_, files_.symlinks, "");
      op.data = kLinkText;
      break;
    case Action::make:
    case Action::mkdir:
      make(op, arena, OpKind::mkdir, directories_, files_.directories, "");
      op.mode = S_IFDIR | kDirectoryMode;
      break;
    case Action::rmdir:
      remove_from(op, arena, directories_, OpKind::rmdir);
      break;
    case Action::mknod:
      make(op, arena, OpKind::mknod, pipes_, files_.directory, "");
      op.mode = S_IFIFO | kFileMode;
      break;
    case Action::readdir:
      list(op, OpKind::readdir);
      break;
    case Action::readdirplus:
      list(op, OpKind::readdirplus);
      break;
    case Action::fsstat:
    case Action::fsinfo:
    case Action::pathconf:
      op.kind = OpKind::statfs;
      op.object = kRootObject;
      op.flags = action == Action::fsinfo ? kStatfsInfo : action == Action::pathconf ? kStatfsNames : StatfsFlag(0);
      break;
    case Action::commit:
      // Commit by object: without an open file, the target can't know that there is nothing to commit, so it sends the request.
      op.kind = OpKind::fsync;
      op.object = files_.files[written_].object;
      break;
    case Action::open:
      open(op, arena);
      break;
    case Action::close:
      close(op);
      break;
    case Action::lock:
      lock(op, OpKind::setlk, F_WRLCK);
      break;
    case Action::test_lock:
      lock(op, OpKind::getlk, F_WRLCK);
      break;
    case Action::unlock:
      lock(op, OpKind::setlk, F_UNLCK);
      break;
    case Action::allocate:
    case Action::deallocate: {
      // Use a range behind the end of the file, so that neither its size nor its content changes.
      const WorkingFile& file = open_file();
      on(OpKind::fallocate, file);
      op.offset = file.size;
      op.length = kAllocation;
      op.mode = FALLOC_FL_KEEP_SIZE | (action == Action::deallocate ? FALLOC_FL_PUNCH_HOLE : 0);
      break;
    }
    case Action::seek:
      on(OpKind::lseek, open_file());
      op.mode = SEEK_DATA;
      break;
    case Action::copy: {
      const WorkingFile &from = files_.files[0], &to = files_.files[1 + random_.below(kOpenFiles - 1)];
      on(OpKind::copy_file_range, from);
      op.object2 = to.object;
      op.handle2 = to.handle;
      op.length = op.result = std::min(from.size, to.size);
      break;
    }
  }
}

}  // namespace fsr
