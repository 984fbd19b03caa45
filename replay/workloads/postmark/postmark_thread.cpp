// SPDX-License-Identifier: Apache-2.0
#include "workloads/postmark/postmark_thread.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <stdexcept>

#include "util/memory.hpp"

namespace fsr::postmark {

namespace {

constexpr size_t kMostErrors = 100;

int64_t elapsed(time_t from, time_t to) { return std::max<int64_t>(to - from, 1); }

Row row_of(OpKind kind) {
  switch (kind) {
    case OpKind::create:
    case OpKind::open:
      return kOpens;
    case OpKind::read:
      return kReads;
    case OpKind::write:
      return kWrites;
    case OpKind::release:
      return kCloses;
    case OpKind::unlink:
      return kUnlinks;
    default:
      return kOthers;
  }
}

}  // namespace

const char* const kRowNames[kFileDeleted + 1] = {"open",   "read",         "write",     "close",         "unlink",
                                                 "others", "file created", "file read", "file appended", "file deleted"};

PostmarkThread::PostmarkThread(const Settings& settings, unsigned copy, uint32_t umask, bool prints)
    : settings_(settings),
      copy_(copy),
      umask_(umask),
      prints_(prints),
      random_(uint32_t(settings.seed + copy)),
      junk_(size_t(settings.size_high) * 2, ' '),
      files_(size_t(settings.files) * 2),
      directories_(std::max<size_t>(settings.locations.size(), 1)) {
  for (char& c : junk_) c = char(32 + random_.below(95));
  for (size_t i = 0; i < settings.locations.size(); ++i)
    weights_up_to_.push_back((i ? weights_up_to_.back() : 0) + settings.locations[i].weight);
}

void PostmarkThread::check_memory(const Settings& settings, unsigned copies) {
  const size_t needed = size_t(settings.files) * 2 * sizeof(File) * copies, memory = memory_limit();
  if (needed > memory)
    throw std::runtime_error(
        fmt::format("set number {}: needs {} bytes of memory, expected at most {}", settings.files, needed, memory));
}

void PostmarkThread::print(const char* text) const {
  if (!prints_) return;
  fputs(text, stdout);
  fflush(stdout);
}

void PostmarkThread::failed(const std::string& what) {
  ++error_count_;
  if (errors_.size() < kMostErrors) errors_.push_back(what);
}

ObjectId PostmarkThread::directory_of(const File& file) const {
  const Directory& directory = directories_[file.location];
  return file.subdirectory < 0 ? directory.root : directory.subdirectories[size_t(file.subdirectory)];
}

std::string PostmarkThread::path_of(const File& file) const {
  std::string path = settings_.locations.empty() ? "" : settings_.locations[file.location].name + "/";
  if (copy_ != 0) path += fmt::format("copy{}/", copy_);
  if (file.subdirectory >= 0) path += fmt::format("s{}/", file.subdirectory);
  return path + std::to_string(file.number);
}

PostmarkThread::File* PostmarkThread::free_slot() {
  if (next_slot_ < files_.size() && files_[next_slot_].size == 0) return &files_[next_slot_++];
  while (lowest_free_ < files_.size() && files_[lowest_free_].size != 0) ++lowest_free_;
  if (lowest_free_ == files_.size()) return nullptr;
  next_slot_ = lowest_free_ + 1;
  return &files_[lowest_free_];
}

PostmarkThread::File& PostmarkThread::any_file() {
  for (;;)
    if (File& file = files_[size_t(random_.below(int64_t(files_.size())))]; file.size != 0) return file;
}

Task PostmarkThread::enter(SimContext& sim, uint32_t location) {
  if (location != location_) co_await sim.move_to(location);
  location_ = location;
  co_return 0;
}

Task PostmarkThread::make_directory(SimContext& sim, ObjectId parent, const std::string& name, ObjectId* made) {
  Op op;
  op.kind = OpKind::mkdir;
  op.parent = parent;
  op.name = name;
  op.mode = 0700 & ~umask_;
  op.object = *made = sim.new_object();
  co_return (co_await sim.perform(op, kOthers)).error;
}

Task PostmarkThread::make_directories(SimContext& sim) {
  for (uint32_t location = 0; location < directories_.size(); ++location) {
    Directory& directory = directories_[location];
    directory.root = kRootObject;
    if (copy_ == 0 && settings_.subdirectories <= 1) continue;
    co_await enter(sim, location);
    if (copy_ != 0) {
      const std::string name = fmt::format("copy{}", copy_);
      if (int error = co_await make_directory(sim, kRootObject, name, &directory.root))
        failed(fmt::format("cannot create directory '{}': {}", name, strerror(error)));
    }
    if (settings_.subdirectories <= 1) continue;
    for (int64_t i = 0; i < settings_.subdirectories && !sim.ended(); ++i) {
      const std::string name = fmt::format("s{}", i);
      ObjectId made;
      if (int error = co_await make_directory(sim, directory.root, name, &made))
        failed(fmt::format("cannot create subdirectory '{}': {}", name, strerror(error)));
      directory.subdirectories.push_back(made);
    }
  }
  co_return 0;
}

Task PostmarkThread::remove_directories(SimContext& sim) {
  for (uint32_t location = 0; location < directories_.size(); ++location) {
    const Directory& directory = directories_[location];
    if (directory.root == kRootObject && directory.subdirectories.empty()) continue;
    co_await enter(sim, location);
    const size_t own = directory.root == kRootObject ? 0 : 1;
    for (size_t i = 0; i < directory.subdirectories.size() + own; ++i) {
      const bool last = i == directory.subdirectories.size();
      const std::string name = last ? fmt::format("copy{}", copy_) : fmt::format("s{}", i);
      Op op;
      op.kind = OpKind::rmdir;
      op.parent = last ? ObjectId(kRootObject) : directory.root;
      op.name = name;
      op.object = last ? directory.root : directory.subdirectories[i];
      const int error = (co_await sim.perform(op, kOthers)).error;
      if (error != 0) failed(fmt::format("cannot remove directory '{}': {}", name, strerror(error)));
    }
  }
  co_return 0;
}

SimContext::PerformAwaiter PostmarkThread::ask(SimContext& sim, Stream& stream, OpKind kind) {
  stream.op.kind = kind;
  stream.op.op_flags = 0;
  stream.op.offset = stream.op.length = 0;
  return sim.perform(stream.op, row_of(kind));
}

SimContext::PerformAwaiter PostmarkThread::transfer(SimContext& sim, Stream& stream, OpKind kind, int64_t bytes) {
  Op& op = stream.op;
  op.kind = kind;
  op.op_flags = stream.appends ? kOpAppend : 0;
  op.offset = uint64_t(stream.offset);
  op.length = uint64_t(bytes);
  PerformOptions how;
  if (kind == OpKind::write) how.payload = {junk_.data() + stream.junk, size_t(bytes)};
  return sim.perform(op, row_of(kind), how);
}

int PostmarkThread::came(Stream& stream, const Outcome& outcome) {
  if (outcome.error == 0) stream.offset += int64_t(outcome.result);
  stream.junk += int64_t(stream.op.length);
  return outcome.error;
}

Task PostmarkThread::open(SimContext& sim, Stream& stream, const File& file, int flags) {
  Op op;
  op.kind = flags & O_CREAT ? OpKind::create : OpKind::open;
  op.open_flags = uint32_t(flags);
  op.object = stream.op.object = file.object;
  op.handle = stream.op.handle = sim.new_handle();
  const std::string name = std::to_string(file.number);
  if (op.kind == OpKind::create) {
    op.parent = directory_of(file);
    op.name = name;
    op.mode = (settings_.buffered ? 0666 : 0644) & ~umask_;
  }
  stream.appends = (flags & O_APPEND) != 0;
  co_return (co_await sim.perform(op, kOpens)).error;
}

Task PostmarkThread::put(SimContext& sim, Stream& stream, int64_t bytes) {
  counts_.bytes_written += float(bytes);
  const int64_t block = settings_.write_block;
  int error = 0;
  for (int64_t left = bytes; error == 0; left -= block) {
    const int64_t part = std::min(left, block);
    Stdio::Writes writes{.held = 0, .direct = part};
    if (settings_.buffered) writes = stream.stdio.write(part);
    if (writes.looks) co_await ask(sim, stream, OpKind::getattr);
    if (writes.held > 0) {
      const Outcome& outcome = co_await transfer(sim, stream, OpKind::write, writes.held);
      error = came(stream, outcome);
    }
    if (error == 0 && (writes.direct > 0 || !settings_.buffered)) {
      const Outcome& outcome = co_await transfer(sim, stream, OpKind::write, writes.direct);
      error = came(stream, outcome);
    }
    if (part < block) break;  // the remainder of the bytes; may be 0
  }
  if (error == 0 && stream.stdio.held() > 0) {
    const Outcome& outcome = co_await transfer(sim, stream, OpKind::write, stream.stdio.held());
    error = came(stream, outcome);
  }
  co_return error;
}

Task PostmarkThread::take_buffered(SimContext& sim, Stream& stream, int64_t block) {
  for (Stdio::Read next = stream.stdio.read(block); next.length > 0; next = stream.stdio.read(block)) {
    if (next.looks) co_await ask(sim, stream, OpKind::getattr);
    const Outcome& outcome = co_await transfer(sim, stream, OpKind::read, next.length);
    if (int error = came(stream, outcome)) co_return error;
    if (outcome.result == 0) co_return 0;  // end of the file
    stream.stdio.came(int64_t(outcome.result), block);
  }
  co_return 0;
}

Task PostmarkThread::take(SimContext& sim, Stream& stream, int64_t bytes) {
  counts_.bytes_read += float(bytes);
  const int64_t block = settings_.read_block;
  int error = 0;
  for (int64_t left = bytes; error == 0; left -= block) {
    const int64_t part = std::min(left, block);
    if (!settings_.buffered) {
      const Outcome& outcome = co_await transfer(sim, stream, OpKind::read, part);
      error = came(stream, outcome);
    } else if (part > 0) {
      error = co_await take_buffered(sim, stream, part);
    }
    if (part < block) break;
  }
  co_return error;
}

Task PostmarkThread::create(SimContext& sim) {
  File* slot = free_slot();
  if (!slot) co_return 0;  // all slots are used
  File& file = *slot;
  const int64_t from = sim.now();
  file.number = ++number_;
  file.location = 0;
  if (directories_.size() > 1)
    file.location =
        uint32_t(std::upper_bound(weights_up_to_.begin(), weights_up_to_.end(), random_.below(weights_up_to_.back())) -
                 weights_up_to_.begin());
  file.subdirectory = settings_.subdirectories > 1 ? int32_t(random_.below(settings_.subdirectories)) : -1;
  file.size = settings_.size_low + random_.below(settings_.size_high - settings_.size_low);
  file.object = sim.new_object();
  ++counts_.created;
  if (!in_transactions_) ++counts_.created_alone;
  co_await enter(sim, file.location);
  Stream stream;
  int error = co_await open(sim, stream, file, settings_.buffered ? O_WRONLY | O_CREAT | O_TRUNC : O_RDWR | O_CREAT);
  if (error != 0) {
    failed(fmt::format("cannot open '{}' for writing: {}", path_of(file), strerror(error)));
    co_return error;
  }
  error = co_await put(sim, stream, file.size);
  const int closed = (co_await ask(sim, stream, OpKind::release)).error;
  if (error == 0) error = closed;
  if (error != 0) failed(fmt::format("cannot write '{}': {}", path_of(file), strerror(error)));
  sim.count(kFileCreated, {.due = from, .from = from, .to = sim.now(), .bytes = uint64_t(file.size), .failed = error != 0});
  co_return error;
}

Task PostmarkThread::read(SimContext& sim, File& file) {
  const int64_t from = sim.now();
  co_await enter(sim, file.location);
  Stream stream;
  int error = co_await open(sim, stream, file, O_RDONLY);
  if (error != 0) {
    failed(fmt::format("cannot open '{}' for reading: {}", path_of(file), strerror(error)));
    co_return error;
  }
  error = co_await take(sim, stream, file.size);
  if (error != 0) failed(fmt::format("cannot read '{}': {}", path_of(file), strerror(error)));
  co_await ask(sim, stream, OpKind::release);
  ++counts_.read;
  sim.count(kFileRead, {.due = from, .from = from, .to = sim.now(), .bytes = uint64_t(file.size), .failed = error != 0});
  co_return error;
}

Task PostmarkThread::append(SimContext& sim, File& file) {
  if (file.size >= settings_.size_high) co_return 0;
  const int64_t from = sim.now();
  co_await enter(sim, file.location);
  Stream stream;
  int error = co_await open(sim, stream, file, settings_.buffered ? O_WRONLY | O_APPEND : O_RDWR | O_APPEND);
  if (error != 0) {
    failed(fmt::format("cannot open '{}' for append: {}", path_of(file), strerror(error)));
    co_return error;
  }
  const int64_t more = random_.below(settings_.size_high - file.size) + 1;
  stream.offset = file.size;
  file.size += more;
  error = co_await put(sim, stream, more);
  const int closed = (co_await ask(sim, stream, OpKind::release)).error;
  if (error == 0) error = closed;
  if (error != 0) failed(fmt::format("cannot write '{}': {}", path_of(file), strerror(error)));
  ++counts_.appended;
  sim.count(kFileAppended, {.due = from, .from = from, .to = sim.now(), .bytes = uint64_t(more), .failed = error != 0});
  co_return error;
}

Task PostmarkThread::remove(SimContext& sim, File& file) {
  const int64_t from = sim.now();
  co_await enter(sim, file.location);
  const std::string name = std::to_string(file.number);
  Op op;
  op.kind = OpKind::unlink;
  op.parent = directory_of(file);
  op.name = name;
  op.object = file.object;
  const int error = (co_await sim.perform(op, kUnlinks)).error;
  sim.count(kFileDeleted, {.due = from, .from = from, .to = sim.now(), .failed = error != 0});
  if (error != 0) {
    failed(fmt::format("cannot delete '{}': {}", path_of(file), strerror(error)));
    co_return error;
  }
  ++counts_.deleted;
  if (!in_transactions_) ++counts_.deleted_alone;
  file = File();
  lowest_free_ = std::min(lowest_free_, size_t(&file - files_.data()));
  co_return 0;
}

Task PostmarkThread::transact(SimContext& sim) {
  if (settings_.bias_read != -1) {
    const bool reads = random_.below(10) < settings_.bias_read;
    File& file = any_file();
    if (reads)
      co_await read(sim, file);
    else
      co_await append(sim, file);
  }
  if (settings_.bias_create != -1) {
    if (random_.below(10) < settings_.bias_create)
      co_await create(sim);
    else
      co_await remove(sim, any_file());
  }
  co_return 0;
}

SimTask PostmarkThread::run(SimContext& sim) {
  if (settings_.subdirectories > 1) print("Creating subdirectories...");
  co_await make_directories(sim);
  if (settings_.subdirectories > 1) print("Done\n");

  const time_t start = time(nullptr);
  print("Creating files...");
  for (int64_t i = 0; i < settings_.files && !sim.ended(); ++i) co_await create(sim);
  print("Done\nPerforming transactions");
  const time_t first = time(nullptr);
  in_transactions_ = true;
  const int64_t dot = std::max<int64_t>(settings_.transactions / 10, 1);
  for (int64_t i = 0; i < settings_.transactions && !sim.ended() && !out_of_files_; ++i) {
    co_await transact(sim);
    if (i % dot == 0) print(".");
    out_of_files_ = counts_.created == counts_.deleted;
  }
  in_transactions_ = false;
  if (out_of_files_)
    print("out of files!\nFor this workload, either increase the number of files or\ndecrease the number of transactions.\n");
  else
    print("Done\n");
  const time_t last = time(nullptr);
  print("Deleting files...");
  for (File& file : files_)
    if (file.size != 0) co_await remove(sim, file);
  print("Done\n");
  const time_t end = time(nullptr);

  if (settings_.subdirectories > 1) print("Deleting subdirectories...");
  co_await remove_directories(sim);
  if (settings_.subdirectories > 1) print("Done\n");
  counts_.seconds = elapsed(start, end);
  counts_.create_seconds = elapsed(start, first);
  counts_.transaction_seconds = elapsed(first, last);
  counts_.delete_seconds = elapsed(last, end);
}

}  // namespace fsr::postmark
