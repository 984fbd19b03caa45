// SPDX-License-Identifier: Apache-2.0
#include "cli/rank_recordings.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include "trace/reader.hpp"
#include "trace/spool.hpp"
#include "trace/writer.hpp"
#include "util/unique_fd.hpp"

namespace fsr {

constexpr size_t kMessagePiece = 4 << 20;  // bytes of a trace that are sent in one message

std::string rank_recording(const std::string& path, unsigned rank) { return fmt::format("{}.r{}", path, rank); }

RankRecordings::RankRecordings(const std::string& path)
    : path_(path), fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
  if (fd_ < 0) throw std::runtime_error(path + ": " + (errno == EEXIST ? "exists already" : strerror(errno)));
}

RankRecordings::~RankRecordings() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(path_.c_str());
}

namespace {

// Reader of one rank's recording, which adapts times and ids to those of the merged one.
class Part {
 public:
  Part(int fd, const std::string& name, unsigned rank, unsigned ranks, int64_t began, bool ids_differ)
      : reader_(fd, name), rank_(rank), ranks_(ranks), began_(began), ids_differ_(ids_differ) {}

  const Op* next() {
    while (at_ == batch_.ops.size()) {
      at_ = 0;
      if (!reader_.next(batch_)) return nullptr;
      for (Op& op : batch_.ops) adapt(op);
    }
    return &batch_.ops[at_];
  }
  void advance() { ++at_; }
  const TraceClosing* closing() const { return reader_.closing(); }

 private:
  void adapt(Op& op) {
    op.start += began_;
    if (!ids_differ_) return;
    for (uint64_t* id : {&op.object, &op.object2, &op.parent, &op.parent2})
      if (*id > kRootObject) *id = *id * ranks_ + rank_;
    for (uint64_t* id : {&op.handle, &op.handle2, &op.owner})
      if (*id) *id = *id * ranks_ + rank_;
    op.thread = op.thread * ranks_ + rank_;
    if (!op.who) return;
    ThreadInfo* who = batch_.arena.make<ThreadInfo>();
    *who = *op.who;
    who->id = op.thread;
    who->client = op.who->client * ranks_ + rank_;
    op.who = who;
  }

  TraceReader reader_;
  const unsigned rank_, ranks_;
  const int64_t began_;
  const bool ids_differ_;
  OpBatch batch_;
  size_t at_ = 0;
};

}  // namespace

void RankRecordings::write(std::vector<int> files, Plan plan) {
  try {
    std::vector<std::unique_ptr<Part>> parts;
    const auto ranks = unsigned(files.size());
    for (unsigned rank = 0; rank < ranks; ++rank)
      parts.push_back(std::make_unique<Part>(std::exchange(files[rank], -1), rank_recording(path_, rank), rank, ranks,
                                             plan.began.at(rank), plan.ids_differ));
    TraceWriter writer(std::exchange(fd_, -1), plan.header, {}, std::move(plan.initial));
    TraceClosing closing{.clean = true, .reason = "replay ended"};
    for (;;) {
      Part* earliest = nullptr;
      for (const auto& part : parts)
        if (const Op* op = part->next(); op && (!earliest || op->start < earliest->next()->start)) earliest = part.get();
      if (!earliest) break;
      const Op& op = *earliest->next();
      if (op.has(kOpUnfinished))
        writer.add_start(begun(op));
      else
        writer.add(op);
      closing.end = std::max(closing.end, op.end());
      earliest->advance();
    }
    for (const auto& part : parts)
      if (const TraceClosing* one = part->closing(); !one || !one->clean) {
        closing.clean = false;
        closing.reason = one ? one->reason : "cut";
      }
    writer.finish(std::move(closing));
  } catch (const std::exception& e) {
    throw std::runtime_error(path_ + ": " + e.what());
  }
}

std::vector<int> collect_recordings(Cluster& cluster, const std::string& own) {
  const UniqueFd file(open(own.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<UniqueFd> copies(cluster.root() ? cluster.size() : 0);
  std::string why;
  for (bool more = true; more;) {
    std::string piece(kMessagePiece, '\0');
    const ssize_t n = file ? read(file.get(), piece.data(), piece.size()) : -1;
    piece.resize(size_t(std::max<ssize_t>(n, 0)));
    if (n < 0 && why.empty()) why = fmt::format("{}: {}", own, strerror(errno));
    const std::vector<std::string> pieces = cluster.gather(piece);
    more = false;
    for (unsigned rank = 0; rank < pieces.size(); ++rank) {
      more = more || !pieces[rank].empty();
      try {
        if (!copies[rank]) copies[rank] = UniqueFd(unnamed_file());
        if (why.empty()) append_to(copies[rank].get(), pieces[rank]);
      } catch (const std::exception& e) {
        why = e.what();
      }
    }
    more = !cluster.broadcast(more ? "y" : "").empty();
  }
  why = cluster.first_failure(why);
  if (!why.empty()) throw std::runtime_error(why);
  std::vector<int> files;
  for (UniqueFd& copy : copies) {
    lseek(copy.get(), 0, SEEK_SET);
    files.push_back(copy.release());
  }
  return files;
}

}  // namespace fsr
