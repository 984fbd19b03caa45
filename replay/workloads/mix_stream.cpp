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
constexpr uint64_t kReadAtEnd = 4096;      // bytes requested of an empty range
constexpr unsigned kMostExcess = 40;       // names of a kind beyond the usual number
constexpr unsigned kMostSharedExcess = 4;  // the same in a shared directory, which has the names of all its streams
constexpr unsigned kMostLinks = 50'000;    // hard links of a file in a shared directory; file systems allow some 65,000
constexpr uint64_t kLockRange = 1 << 20;   // bytes in which one stream of a shared directory locks
constexpr Attr kSetMode{.valid = kAttrMode, .mode = kFileMode};

constexpr int64_t kMostNew = 4000;  // files beyond the usual number if a create of an existing file would not send a CREATE

constexpr size_t kMostOpen = 60;
constexpr size_t kMostOpenOnce = kOpenFiles - 1;  // open files if none may be open twice
constexpr size_t kMostOpenShared = 4;             // open files in a shared directory
constexpr size_t kKeptOpen = 4;                   // open files of a version 4 load that closes leave open

}  // namespace

MixStream::MixStream(const StreamPlace& place, const SizeModel& sizes, const MixPlan& plan, Random random, NewIds& ids)
    : files_(*place.files),
      sizes_(sizes),
      ids_(ids),
      thread_(place.thread),
      index_(place.index),
      neighbours_(place.neighbours),
      handles_(place.handles),
      removes_(plan_removes(plan)),
      past_cache_(plan.past_cache),
      shared_(place.shared),
      most_excess_(shared_ ? kMostSharedExcess : kMostExcess),
      most_links_(shared_ ? std::clamp(kMostLinks * kOpenFiles / neighbours_, 1u, kMostSharedExcess) : kMostExcess),
      random_(random) {
  auto stock = [](SparePool& pool, const std::vector<Spare>& from) {
    for (const Spare& spare : from) pool.there.push_back(spare.object);
    pool.made = pool.usual = uint32_t(from.size());
  };
  if (shared_) {
    // A file of its own, which the stream makes before it does anything else with such files.
    spare_files_.usual = 1;
  } else {
    stock(spare_files_, files_.spare_files);
    stock(links_, files_.spare_links);
    stock(symlinks_, files_.spare_symlinks);
    stock(directories_, files_.spare_directories);
    for (size_t i = 0; i < files_.opened.size(); ++i)
      opened_.push_back({files_.files[files_.first_to_open + i].object, files_.opened[i]});
  }
  const MixTraits& traits = plan.traits;
  if (!traits.reads.known() && !traits.writes.known() && !traits.failed_lookups) return;
  traits_ = std::make_unique<Traits>();
  if (traits.reads.known() || traits.writes.known()) traits_->positions.resize(files_.files.size());
  if (traits.reads.known()) traits_->reads.emplace(traits.reads, files_, traits_->positions, Random(random_.next()));
  if (traits.writes.known()) traits_->writes.emplace(traits.writes, files_, traits_->positions, Random(random_.next()));
  if (traits.failed_lookups) {
    const double shares[] = {1 - *traits.failed_lookups, *traits.failed_lookups};
    traits_->lookups.emplace(shares, Random(random_.next()));
  }
}

// Returns the file of which this stream makes hard links. Neighbours use different ones, because a file may have 65,000 links.
ObjectId MixStream::linked() const { return shared_ ? files_.files[index_ % kOpenFiles].object : files_.linked; }

ObjectId MixStream::parent_of(const SparePool& pool) const {
  if (&pool == &links_) return files_.links;
  if (&pool == &symlinks_) return files_.symlinks;
  return &pool == &directories_ ? files_.directories : files_.directory;
}

// Returns the number in the name of object `i` of those that are there. Neighbours have the numbers between.
uint64_t MixStream::name_number(const SparePool& pool, size_t i) const {
  const uint64_t first = &pool == &spare_files_           ? kOpenFiles
                         : shared_ && &pool == &symlinks_ ? 1 + files_.spare_symlinks.size()
                                                          : 1;
  return first + index_ + (pool.made - pool.there.size() + i) * neighbours_;
}

std::string MixStream::spare_name(const SparePool& pool, size_t i) const {
  return fmt::format("{:03}{}", name_number(pool, i), &pool == &spare_files_ ? kFileSuffix : "");
}

uint64_t MixStream::entries() const {  // names in the stream's directory
  return kOpenFiles + spare_files_.there.size() + pipes_.there.size() + files_.folders.size() + 4;
}

// Number of removable names beyond their usual number.
int64_t MixStream::all_excess() const { return spare_files_.excess() + links_.excess() + symlinks_.excess() + pipes_.excess(); }

// Returns the kind of names that has grown most beyond its usual number. Null: nothing may be removed. One symlink always remains
// for readlink; a shared directory has others for that.
MixStream::SparePool* MixStream::fullest(bool directories) {
  SparePool* most = nullptr;
  auto look = [&](SparePool& pool, size_t least) {
    if (pool.there.size() > least && (!most || pool.excess() > most->excess())) most = &pool;
  };
  look(spare_files_, 0);
  look(links_, 0);
  look(symlinks_, shared_ ? 0 : 1);
  look(pipes_, 0);
  if (directories) look(directories_, 0);
  return most;
}

bool MixStream::playable(Action action) const {
  switch (action) {
    case Action::readlink:
      return shared_ || !symlinks_.there.empty();
    case Action::rename:
      return !shared_ || !spare_files_.there.empty();
    case Action::remove:
      return const_cast<MixStream*>(this)->fullest(false) != nullptr;
    case Action::remove_any:
      return const_cast<MixStream*>(this)->fullest(true) != nullptr;
    case Action::rmdir:
      return !directories_.there.empty();
    // Not far beyond the usual number; otherwise another stream has to issue the call.
    case Action::link:
      return links_.excess() < most_links_;
    case Action::symlink:
      return symlinks_.excess() < most_excess_;
    case Action::mknod:
      return pipes_.excess() < most_excess_;
    case Action::mkdir:
    case Action::make:
      return directories_.excess() < most_excess_;
    case Action::open:
      return opened_.size() < (shared_ ? kMostOpenShared : files_.first_to_open ? kMostOpenOnce : kMostOpen);
    case Action::close:
      return opened_.size() > (shared_ ? 0 : kKeptOpen);
    default:
      return true;
  }
}

void MixStream::subject(Op& op, const WorkingFile& file) {
  op.object = file.object;
  op.handle = own(file.handle);
}

void MixStream::name(Op& op, NameRoom& room, ObjectId parent, std::string_view text) {
  op.parent = parent;
  op.name = room.copy(text);
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
  const std::vector<uint32_t>& by_size = files_.by_size;
  auto from = std::lower_bound(by_size.begin(), by_size.end(), length,
                               [&](uint32_t i, uint64_t bytes) { return files_.files[i].size < bytes; });
  p.file = from[ptrdiff_t(random_.below(uint64_t(by_size.end() - from)))];
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
void MixStream::lookup(Op& op, NameRoom& room) {
  op.kind = OpKind::lookup;
  if (traits_ && traits_->lookups && traits_->lookups->deal([](unsigned) { return true; }).value_or(0) == 1) {
    op.error = ENOENT;
    name(op, room, files_.directory, fmt::format("none{:03}", ++traits_->missing));
    return;
  }
  const WorkingFile& file = any_file();
  op.object = file.object;
  name(op, room, file.parent, file.name);
}

void MixStream::spare(Op& op, NameRoom& room, const SparePool& pool, size_t i) {
  op.object = pool.there[i];
  name(op, room, parent_of(pool), spare_name(pool, i));
}

void MixStream::make(Op& op, NameRoom& room, OpKind kind, SparePool& pool) {
  op.kind = kind;
  pool.there.push_back(ids_.take_object());
  ++pool.made;
  spare(op, room, pool, pool.there.size() - 1);
}

void MixStream::create(Op& op, NameRoom& room, bool open) {
  // If the name exists, a client with a cache sends another request than CREATE.
  const bool wanted = removes_ && all_excess() < (past_cache_ ? kMostNew : most_excess_ / 2);
  op.open_flags = O_CREAT | O_TRUNC | O_RDWR;
  op.mode = S_IFREG | kFileMode;
  if (open) op.handle = ids_.take_handle();
  if (wanted || spare_files_.there.empty()) {
    op.op_flags = kOpCreated;
    make(op, room, OpKind::create, spare_files_);
  } else {
    op.kind = OpKind::create;
    spare(op, room, spare_files_, random_.below(spare_files_.there.size()));
  }
}

void MixStream::remove_from(Op& op, NameRoom& room, SparePool& pool, OpKind kind) {
  op.kind = kind;
  spare(op, room, pool, 0);
  pool.there.pop_front();
  if (&pool == &symlinks_ && next_link_ > 0) --next_link_;
}

void MixStream::remove(Op& op, NameRoom& room, bool directories) {
  SparePool* pool = fullest(directories);
  remove_from(op, room, *pool, pool == &directories_ ? OpKind::rmdir : OpKind::unlink);
}

void MixStream::link(Op& op, NameRoom& room) {
  links_.there.push_back(linked());
  ++links_.made;
  op.kind = OpKind::link;
  op.object = linked();
  op.parent2 = files_.links;
  op.name2 = room.copy(spare_name(links_, links_.there.size() - 1));
}

void MixStream::read_link(Op& op) {
  op.kind = OpKind::readlink;
  op.data = kLinkText;
  if (shared_)
    op.object = files_.spare_symlinks[random_.below(files_.spare_symlinks.size())].object;
  else
    op.object = symlinks_.there[(past_cache_ ? next_link_++ : random_.below(symlinks_.there.size())) % symlinks_.there.size()];
}

void MixStream::rename(Op& op, NameRoom& room) {
  op.kind = OpKind::rename;
  op.parent = op.parent2 = files_.directory;
  if (!shared_) {
    op.object = files_.renamed;
    op.name = renamed_ ? "rename2" : "rename1";
    op.name2 = renamed_ ? "rename1" : "rename2";
    renamed_ = !renamed_;
    return;
  }
  // The oldest file becomes the newest one.
  spare(op, room, spare_files_, 0);
  spare_files_.there.pop_front();
  spare_files_.there.push_back(op.object);
  ++spare_files_.made;
  op.name2 = room.copy(spare_name(spare_files_, spare_files_.there.size() - 1));
}

// Version 4 has no CREATE of files. An OPEN makes files, if more are needed for removes, or for renames in a shared directory.
void MixStream::open(Op& op, NameRoom& room) {
  if ((removes_ || shared_) && spare_files_.excess() < 0) {
    create(op, room, true);
  } else {
    op.kind = OpKind::open;
    op.object = to_open();
    op.handle = ids_.take_handle();
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
  op.handle = own(files_.listing);
  op.length = kind == OpKind::readdir ? kListingBytes : kPlusBytes;
  op.result = entries();
}

// Neighbours lock different bytes, so that each lock is granted. A stream uses one file there, because some targets need a
// descriptor for each file and owner.
void MixStream::lock(Op& op, OpKind kind, uint32_t mode) {
  const WorkingFile& file = shared_ ? files_.files[index_ % kOpenFiles] : open_file();
  op.kind = kind;
  subject(op, file);
  op.owner = thread_;
  op.offset = index_ * kLockRange + random_.below(shared_ ? kLockRange - kLockBytes : file.size);
  op.length = kLockBytes;
  op.mode = mode;
}

void MixStream::run(Action action, Op& op, NameRoom& room) {
  op.thread = thread_;
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
    case Action::setattr:
      on(OpKind::setattr, any_file());
      op.set = &kSetMode;
      break;
    case Action::lookup:
      lookup(op, room);
      break;
    case Action::access:
      op.kind = OpKind::access;
      op.object = any_file().object;
      op.mode = R_OK | W_OK;
      break;
    case Action::readlink:
      read_link(op);
      break;
    case Action::read:
      traits_ && traits_->reads ? transfer(op, *traits_->reads, false) : transfer(op, reading_, false);
      break;
    case Action::write:
      traits_ && traits_->writes ? transfer(op, *traits_->writes, true) : transfer(op, writing_, true);
      break;
    case Action::create:
      create(op, room, false);
      break;
    case Action::remove:
      remove(op, room, false);
      break;
    case Action::remove_any:
      remove(op, room, true);
      break;
    case Action::rename:
      rename(op, room);
      break;
    case Action::link:
      link(op, room);
      break;
    case Action::symlink:
      make(op, room, OpKind::symlink, symlinks_);
      op.data = kLinkText;
      break;
    case Action::make:
    case Action::mkdir:
      make(op, room, OpKind::mkdir, directories_);
      op.mode = S_IFDIR | kDirectoryMode;
      break;
    case Action::rmdir:
      remove_from(op, room, directories_, OpKind::rmdir);
      break;
    case Action::mknod:
      make(op, room, OpKind::mknod, pipes_);
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
      open(op, room);
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
      op.handle2 = own(to.handle);
      op.length = op.result = std::min(from.size, to.size);
      break;
    }
  }
}

}  // namespace fsr
