// SPDX-License-Identifier: Apache-2.0
#include "mapping_recorder.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>

#include "passthrough.hpp"
#include "util/clock_ns.hpp"

namespace fsr::shim {

namespace {

constexpr uint64_t kPage = 4096;                // of x86, where alone events of page faults exist
constexpr uint64_t kMostAtOnce = 128 << 10;     // bytes of one operation, at most
constexpr int64_t kTogether = 1'000'000;        // ns between two faults that become one operation, at most
constexpr int64_t kLinger = 1'000'000'000;      // ns after an open in which a file is usually mapped
constexpr int64_t kRemembered = 1'000'000'000;  // ns after a close until all faults of the open instance have been read
constexpr size_t kMostFds = 256;
constexpr int kRoundMs = 10;

}  // namespace

std::unique_ptr<PerfEvents> watch_faults(Mappings mappings, std::string* why) {
  return mappings == Mappings::kSeen ? nullptr : PerfEvents::open(why);
}

MappingRecorder::MappingRecorder(std::unique_ptr<PerfEvents> events, Shim& shim, int64_t epoch, Devices devices,
                                 std::atomic<uint64_t>& lost)
    : events_(std::move(events)),
      shim_(shim),
      epoch_(epoch),
      shown_device_(shim.inodes.root()->key.dev),
      devices_(devices),
      lost_(lost),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      ring_(shim.recorder.borrow()),
      thread_([this] { run(); }) {}

MappingRecorder::~MappingRecorder() { stop(); }

void MappingRecorder::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);  // no open in progress watches events from now on
    stop_ = true;
  }
  eventfd_write(wake_.get(), 1);
  thread_.join();
  for (auto of : {PerfEvents::Of::faults, PerfEvents::Of::mappings}) events_->watch(of, false);
  shim_.recorder.give_back(ring_);
}

void MappingRecorder::opened(const OpenHandle& handle) {
  struct stat s;
  if (stop_ || (handle.flags & O_ACCMODE) == O_WRONLY || fstat(handle.fd, &s) != 0) return;
  const Key key{s.st_dev == shown_device_ ? devices_.underlying : s.st_dev, s.st_ino};
  const int64_t now = clock_ns(CLOCK_MONOTONIC);
  std::lock_guard lock(mutex_);
  if (stop_) return;
  std::shared_ptr<File>& file = by_inode_[handle.inode];
  if (!file) {
    std::shared_ptr<File>& known = files_[key];  // may be an earlier file whose number is used again
    if (known && known->object == handle.inode->id)
      ++known->inodes;
    else
      known = std::make_shared<File>(File{.key = key, .inode = handle.inode, .object = handle.inode->id, .since = now});
    file = known;
    files_[file->through = {devices_.mount, handle.inode->key.ino}] = file;
  }
  const pid_t pid = handle.opener ? handle.opener->pid : 0;
  std::erase_if(file->opens, [now](const Open& open) { return open.to < now - kRemembered; });
  file->opens.push_back({handle.id, pid, (handle.flags & O_ACCMODE) == O_RDWR, handle.uid, handle.gid, now, INT64_MAX});
  inside_.try_emplace(pid, handle.opener ? handle.opener->ppid : 0);
  ++opens_;
  busy_until_ = now + kLinger;
  if (!mappings_on_) {
    shim_.recorder.hold(now - epoch_);
    events_->watch(PerfEvents::Of::mappings, mappings_on_ = true);
    eventfd_write(wake_.get(), 1);
  }
  if (!faults_on_) events_->watch(PerfEvents::Of::faults, faults_on_ = true);
}

void MappingRecorder::closed(const OpenHandle& handle) {
  std::lock_guard lock(mutex_);
  const auto at = by_inode_.find(handle.inode);
  if (at == by_inode_.end()) return;
  for (Open& open : at->second->opens)
    if (open.id == handle.id && open.to == INT64_MAX) {
      open.to = clock_ns(CLOCK_MONOTONIC);
      --opens_;
    }
}

void MappingRecorder::forgotten(const Inode& inode) {
  std::lock_guard lock(mutex_);
  const auto at = by_inode_.find(&inode);
  if (at == by_inode_.end()) return;
  const std::shared_ptr<File> file = at->second;
  by_inode_.erase(at);
  if (--file->inodes != 0) {
    if (file->inode != &inode) return;
    for (const auto& [other, its] : by_inode_)
      if (its == file) file->inode = const_cast<Inode*>(other);
    return;
  }
  file->gone = drop_gone_ = true;
  for (const Key& key : {file->key, file->through})
    if (const auto known = files_.find(key); known != files_.end() && known->second == file) files_.erase(known);
}

void MappingRecorder::run() {
  while (!stop_) {
    bool busy;
    {
      std::lock_guard lock(mutex_);
      busy = mappings_on_;
    }
    events_->wait(wake_.get(), busy ? kRoundMs : -1);
    eventfd_t woken;
    (void)!eventfd_read(wake_.get(), &woken);
    round(false);
  }
  round(true);
  shim_.recorder.hold(INT64_MAX);
}

void MappingRecorder::round(bool last) {
  {
    std::lock_guard lock(mutex_);
    if (!mappings_on_) return;
    if (std::exchange(drop_gone_, false)) maps_.drop_if([](const File& file) { return file.gone; });
  }
  taken_.clear();
  const int64_t bound = events_->take(taken_, last);
  for (const PerfEvent& event : taken_) handle(event);
  for (const auto& [tid, access] : growing_) done_.push_back(access);
  // Sort, because a ring must have its operations in the order of their starts.
  std::sort(done_.begin(), done_.end(), [](const Access& one, const Access& other) { return one.first < other.first; });
  for (const Access& access : done_) record(access);
  done_.clear();
  {
    std::lock_guard lock(mutex_);
    for (pid_t pid : exited_) inside_.erase(pid);
  }
  exited_.clear();
  growing_.clear();
  shim_.recorder.hold(bound - epoch_);
  rest(bound);
}

// Stops watching events that can't happen any more.
void MappingRecorder::rest(int64_t now) {
  std::lock_guard lock(mutex_);
  if (now < busy_until_ || !maps_.empty()) return;
  if (faults_on_) events_->watch(PerfEvents::Of::faults, faults_on_ = false);
  if (opens_ != 0) return;
  events_->watch(PerfEvents::Of::mappings, mappings_on_ = false);
  shim_.recorder.hold(INT64_MAX);
  inside_.clear();
}

void MappingRecorder::handle(const PerfEvent& event) {
  switch (event.kind) {
    case PerfEvent::Kind::mapped:
      return mapped(event);
    case PerfEvent::Kind::fault:
      return fault(event);
    case PerfEvent::Kind::filled:
      return filled(event);
    case PerfEvent::Kind::forked: {
      if (event.pid == event.parent) return;  // a thread
      maps_.forked(event.parent, event.pid);
      std::lock_guard lock(mutex_);
      if (inside_.contains(event.parent)) inside_[event.pid] = event.parent;
      return;
    }
    case PerfEvent::Kind::executed:
      return maps_.ended(event.pid);
    case PerfEvent::Kind::exited: {
      if (const auto at = growing_.find(event.tid); at != growing_.end()) {
        done_.push_back(at->second);
        growing_.erase(at);
      }
      if (event.tid != event.pid) return;
      maps_.ended(event.pid);
      exited_.push_back(event.pid);
      return;
    }
    case PerfEvent::Kind::lost:
      lost_.fetch_add(event.length, std::memory_order_relaxed);
  }
}

void MappingRecorder::mapped(const PerfEvent& event) {
  std::shared_ptr<File> file;
  if (event.ino != 0) {
    std::lock_guard lock(mutex_);
    const auto at = files_.find({event.dev, event.ino});
    if (at != files_.end() && at->second->since > event.time) {
      lost_.fetch_add(1, std::memory_order_relaxed);
    } else if (at != files_.end() && (event.dev == devices_.mount || inside_.contains(event.pid))) {
      file = at->second;
      if (!faults_on_) events_->watch(PerfEvents::Of::faults, faults_on_ = true);
    }
  }
  const Maps::Mapping mapping{event.address + event.length, event.offset, event.shared, file};
  maps_.mapped(event.pid, event.address, mapping.end, file ? &mapping : nullptr);
}

void MappingRecorder::fault(const PerfEvent& event) {
  uint64_t start = 0;
  const Maps::Mapping* mapping = maps_.find(event.pid, event.address, &start);
  if (!mapping) return;
  const uint64_t offset = mapping->offset + (event.address - start) / kPage * kPage;
  const bool store = event.store && mapping->stores;
  auto [at, fresh] = growing_.try_emplace(event.tid);
  Access& access = at->second;
  const bool same = !fresh && access.file == mapping->file && access.store == store && event.time - access.last < kTogether;
  if (same && offset >= access.offset && offset + kPage <= access.end) {
    access.last = event.time;
    return;
  }
  if (same && offset == access.end && access.end - access.offset < kMostAtOnce) {
    access.end += kPage;
    access.last = event.time;
    return;
  }
  if (!fresh) done_.push_back(access);
  access = {mapping->file, store, event.pid, event.tid, offset, offset + kPage, event.time, event.time};
}

// Extends an access by the pages that the kernel mapped around its fault. The fault was at the last page of the access.
void MappingRecorder::filled(const PerfEvent& event) {
  const auto at = growing_.find(event.tid);
  if (at == growing_.end() || at->second.store) return;
  Access& access = at->second;
  const uint64_t end = event.offset + event.length;
  if (access.end <= event.offset || access.end > end) return;
  access.offset = std::min(access.offset, event.offset);
  access.end = end;
}

// Returns a descriptor of the file for asking its size. It is found through the inode, which is retained meanwhile.
SharedFd MappingRecorder::size_fd(const std::shared_ptr<File>& file) {
  Inode* inode;
  {
    std::lock_guard lock(mutex_);
    if (file->fd || file->gone) return file->fd;
    shim_.inodes.retain(inode = file->inode);
  }
  SharedFd fd;
  {
    const LowerFd path(shim_.inodes, inode);
    if (path.value() >= 0) fd = std::make_shared<UniqueFd>(fcntl(path.value(), F_DUPFD_CLOEXEC, 0));
  }
  shim_.inodes.release(inode);
  std::lock_guard lock(mutex_);
  with_fd_.push_back(file);
  if (with_fd_.size() > kMostFds) {
    with_fd_.front()->fd.reset();
    with_fd_.pop_front();
  }
  return file->fd = fd;
}

void MappingRecorder::record(const Access& access) {
  const SharedFd fd = size_fd(access.file);
  struct stat s;
  if (!fd || !*fd || fstat(fd->get(), &s) != 0) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const uint64_t end = std::min(access.end, uint64_t(s.st_size));
  if (access.offset >= end) return;  // the file was truncated since
  Op op;
  op.kind = access.store ? OpKind::write : OpKind::read;
  op.op_flags = kOpKernel;
  op.start = access.first - epoch_;
  op.duration = access.last - access.first;
  op.object = access.file->object;
  op.offset = access.offset;
  op.length = op.result = end - access.offset;
  pid_t parent = 0;
  {
    std::lock_guard lock(mutex_);
    if (const auto at = inside_.find(access.pid); at != inside_.end()) parent = at->second;
    const Open* found = nullptr;
    for (const Open& open : access.file->opens)
      if ((open.writes || !access.store) && open.from <= access.first && access.last < open.to &&
          (!found || (open.pid == access.pid && found->pid != access.pid)))
        found = &open;
    const Open* like = found ? found : access.file->opens.empty() ? nullptr : &access.file->opens.back();
    if (found) op.handle = found->id;
    if (like) op.uid = like->uid, op.gid = like->gid;
  }
  const OwnThread who = shim_.processes.named(access.tid, access.pid, parent, shim_.recorder.now());
  op.who = &who;
  op.thread = op.who->id;
  if (!shim_.recorder.add(ring_, op)) lost_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace fsr::shim
