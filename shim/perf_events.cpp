// SPDX-License-Identifier: Apache-2.0
#include "perf_events.hpp"
#include "util/clock_ns.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace fsr::shim {

namespace {

constexpr size_t kMappedPage = 4096;        // of x86: other processors have no tracepoints for page faults
constexpr size_t kBufferBytes = 512 << 10;  // for each processor; the number of pages is a power of two
constexpr uint32_t kWakeBytes = kBufferBytes / 4;
constexpr int64_t kArrival = 200'000;     // ns after which an event is in its buffer
constexpr uint64_t kPageFaultWrites = 2;  // X86_PF_WRITE in error_code

std::string read_at(int dir, const std::string& path) {
  const UniqueFd fd(openat(dir, path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(16384, 0);
  const ssize_t n = fd ? ::read(fd.get(), text.data(), text.size()) : 0;
  text.resize(size_t(std::max<ssize_t>(n, 0)));
  return text;
}

// Opens the directory of events in tracefs, which need not be mounted.
UniqueFd open_tracefs() {
  UniqueFd mounted(::open("/sys/kernel/tracing/events", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (mounted) return mounted;
  const UniqueFd context(int(syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context || syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return UniqueFd();
  const UniqueFd root(int(syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
  return UniqueFd(root ? openat(root.get(), "events", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1);
}

struct Tracepoint {
  uint64_t id = 0;
  std::string format;
  // Returns the offset of a field in a record. 0: the record has no such field.
  size_t at(const char* field) const {
    const size_t name = format.find(" " + std::string(field) + ";");
    const size_t offset = name == std::string::npos ? name : format.find("offset:", name);
    return offset == std::string::npos ? 0 : strtoul(format.c_str() + offset + 7, nullptr, 10);
  }
};

Tracepoint tracepoint(int events, const std::string& name) {
  return {strtoull(read_at(events, name + "/id").c_str(), nullptr, 10), read_at(events, name + "/format")};
}

template <class T>
T value(const char* from) {
  T v;
  memcpy(&v, from, sizeof v);
  return v;
}

UniqueFd open_event(perf_event_attr attr, int cpu) {
  attr.size = sizeof attr;
  attr.sample_type |= PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.disabled = 1;
  attr.watermark = 1;
  attr.wakeup_watermark = kWakeBytes;
  return UniqueFd(int(syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace

struct PerfEvents::Fields {
  Tracepoint user, kernel, filled;
  size_t address, error, ino, dev, first, last;
};

struct PerfEvents::Buffer {
  char* memory = nullptr;  // a page shared with the kernel, then the records
  UniqueFd mappings;       // records of `faults` go to its memory as well
  std::vector<UniqueFd> faults;
  std::vector<char> record;  // a record that is split at the end of the memory
  ~Buffer() {
    if (memory) munmap(memory, kMappedPage + kBufferBytes);
  }
};

PerfEvents::PerfEvents() = default;
PerfEvents::~PerfEvents() = default;

std::unique_ptr<PerfEvents> PerfEvents::open(std::string* why) {
  const UniqueFd events = open_tracefs();
  std::unique_ptr<PerfEvents> all(new PerfEvents);
  const Tracepoint user = tracepoint(events.get(), "exceptions/page_fault_user"),
                   kernel = tracepoint(events.get(), "exceptions/page_fault_kernel"),
                   filled = tracepoint(events.get(), "filemap/mm_filemap_map_pages");
  all->fields_ =
      std::make_unique<Fields>(Fields{user, kernel, filled, user.at("address"), user.at("error_code"), filled.at("i_ino"),
                                      filled.at("s_dev"), filled.at("index"), filled.at("last_index")});
  const Fields& f = *all->fields_;
  for (size_t field : {size_t(user.id), size_t(kernel.id), size_t(filled.id), f.address, f.error, f.ino, f.dev, f.first, f.last})
    if (field == 0) {
      *why = "this kernel has no tracepoints for page faults";
      return nullptr;
    }
  for (int cpu = 0, cpus = int(sysconf(_SC_NPROCESSORS_CONF)); cpu < cpus; ++cpu) {
    auto buffer = std::make_unique<Buffer>();
    perf_event_attr attr{};
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.mmap = attr.mmap_data = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = attr.sample_id_all = 1;
    buffer->mappings = open_event(attr, cpu);
    if (!buffer->mappings && errno == ENODEV) continue;  // the processor is offline
    void* memory = buffer->mappings
                       ? mmap(nullptr, kMappedPage + kBufferBytes, PROT_READ | PROT_WRITE, MAP_SHARED, buffer->mappings.get(), 0)
                       : MAP_FAILED;
    if (memory != MAP_FAILED) buffer->memory = static_cast<char*>(memory);
    bool good = buffer->memory != nullptr;
    for (const Tracepoint* point : {&user, &kernel, &filled}) {
      attr = {};
      attr.type = PERF_TYPE_TRACEPOINT;
      attr.config = point->id;
      attr.sample_type = PERF_SAMPLE_RAW;
      attr.sample_period = 1;
      if (good) buffer->faults.push_back(open_event(attr, cpu));
      good = good && buffer->faults.back() &&
             ioctl(buffer->faults.back().get(), PERF_EVENT_IOC_SET_OUTPUT, buffer->mappings.get()) == 0;
    }
    if (!good) {
      *why = std::string("perf events: ") + strerror(errno);
      return nullptr;
    }
    all->buffers_.push_back(std::move(buffer));
  }
  return all;
}

void PerfEvents::watch(Of of, bool on) {
  const unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
  for (const auto& buffer : buffers_)
    if (of == Of::mappings)
      ioctl(buffer->mappings.get(), request, 0);
    else
      for (const UniqueFd& fd : buffer->faults) ioctl(fd.get(), request, 0);
}

void PerfEvents::wait(int wake, int milliseconds) {
  std::vector<pollfd> fds{{wake, POLLIN, 0}};
  for (const auto& buffer : buffers_) fds.push_back({buffer->mappings.get(), POLLIN, 0});
  poll(fds.data(), fds.size(), milliseconds);
}

void PerfEvents::parse(const char* record) {
  const auto header = value<perf_event_header>(record);
  const char *body = record + sizeof header, *end = record + header.size;
  PerfEvent event{};
  if (header.type == PERF_RECORD_SAMPLE) {
    event.pid = value<pid_t>(body);
    event.tid = value<pid_t>(body + 4);
    event.time = value<int64_t>(body + 8);
    const char* raw = body + 20;
    const auto type = value<uint16_t>(raw);
    if (type == fields_->filled.id) {
      event.kind = PerfEvent::Kind::filled;
      const auto dev = value<uint32_t>(raw + fields_->dev);  // dev_t as the kernel packs it
      event.dev = makedev(dev >> 20, dev & 0xfffff);
      event.ino = value<uint64_t>(raw + fields_->ino);
      event.offset = value<uint64_t>(raw + fields_->first) * kMappedPage;
      event.length = (value<uint64_t>(raw + fields_->last) + 1) * kMappedPage - event.offset;
    } else {
      event.kind = PerfEvent::Kind::fault;
      event.address = value<uint64_t>(raw + fields_->address);
      event.store = value<uint64_t>(raw + fields_->error) & kPageFaultWrites;
    }
    return waiting_.push_back(event);
  }
  event.time = value<int64_t>(end - 8);
  event.pid = value<pid_t>(body);
  event.tid = value<pid_t>(body + 4);
  switch (header.type) {
    case PERF_RECORD_MMAP2:
      event.kind = PerfEvent::Kind::mapped;
      event.address = value<uint64_t>(body + 8);
      event.length = value<uint64_t>(body + 16);
      event.offset = value<uint64_t>(body + 24);
      event.dev = makedev(value<uint32_t>(body + 32), value<uint32_t>(body + 36));
      event.ino = value<uint64_t>(body + 40);
      event.writable = value<uint32_t>(body + 56) & PROT_WRITE;
      event.shared = value<uint32_t>(body + 60) & MAP_SHARED;
      break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      event.kind = header.type == PERF_RECORD_FORK ? PerfEvent::Kind::forked : PerfEvent::Kind::exited;
      event.parent = event.tid;  // order in the record: process, parent process, thread, parent thread
      event.tid = value<pid_t>(body + 8);
      break;
    case PERF_RECORD_COMM:
      if (!(header.misc & PERF_RECORD_MISC_COMM_EXEC)) return;
      event.kind = PerfEvent::Kind::executed;
      break;
    case PERF_RECORD_LOST:
      event.kind = PerfEvent::Kind::lost;
      event.length = value<uint64_t>(body + 8);
      break;
    default:
      return;
  }
  waiting_.push_back(event);
}

void PerfEvents::read(Buffer& buffer) {
  auto* page = reinterpret_cast<perf_event_mmap_page*>(buffer.memory);
  const char* data = buffer.memory + kMappedPage;
  std::atomic_ref<__u64> head_of(page->data_head), tail_of(page->data_tail);
  const uint64_t head = head_of.load(std::memory_order_acquire);
  uint64_t tail = tail_of.load(std::memory_order_relaxed);
  while (tail < head) {
    const size_t at = tail % kBufferBytes;
    const size_t size =
        value<perf_event_header>(data + at).size;  // record sizes are multiples of 8, so that a header is never split
    if (at + size > kBufferBytes) {
      buffer.record.assign(data + at, data + kBufferBytes);
      buffer.record.insert(buffer.record.end(), data, data + size - (kBufferBytes - at));
      parse(buffer.record.data());
    } else {
      parse(data + at);
    }
    tail += size;
  }
  tail_of.store(tail, std::memory_order_release);
}

int64_t PerfEvents::take(std::vector<PerfEvent>& events, bool all) {
  const int64_t bound = clock_ns(CLOCK_MONOTONIC) - (all ? 0 : kArrival);
  for (const auto& buffer : buffers_) read(*buffer);
  std::stable_sort(waiting_.begin(), waiting_.end(), [](const PerfEvent& a, const PerfEvent& b) { return a.time < b.time; });
  auto end = all ? waiting_.end()
                 : std::partition_point(waiting_.begin(), waiting_.end(), [bound](const PerfEvent& e) { return e.time < bound; });
  events.insert(events.end(), waiting_.begin(), end);
  waiting_.erase(waiting_.begin(), end);
  return bound;
}

}  // namespace fsr::shim
