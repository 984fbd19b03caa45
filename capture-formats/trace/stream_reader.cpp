// SPDX-License-Identifier: Apache-2.0
#include "trace/stream_reader.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "trace/block_decoder.hpp"
#include "trace/block_encoder.hpp"
#include "trace/frame.hpp"
#include "trace/header_text.hpp"
#include "trace/op_limits.hpp"
#include "util/clock_ns.hpp"

namespace fsr {

constexpr int kLook = 100;      // ms between two looks at `stop`
constexpr int kBehind = 1'000;  // ms: a writer that stays open for longer after the closing statement has no more to say

StreamReader::StreamReader(int fd, std::string name, int64_t patience, const std::atomic<int>* stop)
    : fd_(fd), name_(std::move(name)), patience_(patience), stop_(stop) {
  while (!decoder_ && !ended_) read_section(-1);
  if (!decoder_ && stop && stop->load() != 0) throw std::runtime_error(name_ + ": interrupted before a trace came");
  if (!decoder_)
    throw std::runtime_error(name_ + ": " + (damage_.empty() ? "expected a trace" : "expected a trace, but " + damage_));
}

StreamReader::~StreamReader() = default;

void StreamReader::end(const std::string& why) {
  ended_ = true;
  if (!closed_) damage_ = fmt::format("the stream ended at byte {}: {}", bytes_, why);
}

// Waits until something can be read, or until the stream is to end. False: nothing came within `ms`; -1: no limit.
bool StreamReader::readable(int ms) {
  for (int waited = 0;;) {
    if (stop_ && stop_->load(std::memory_order_relaxed)) {
      ended_ = true;
      return true;
    }
    pollfd p{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    const int wait = ms < 0 ? kLook : std::min(kLook, ms - waited);
    if (poll(&p, 1, wait) > 0) return true;
    waited += wait;
    if (ms >= 0 && waited >= ms) return false;
  }
}

// Appends to buffer_ until it holds so many bytes. False: the stream has ended.
bool StreamReader::fill(size_t bytes) {
  size_t have = buffer_.size();
  if (have >= bytes) return true;
  buffer_.resize(bytes);
  while (have < bytes && readable(-1) && !ended_) {
    const ssize_t n = read(fd_.get(), buffer_.data() + have, bytes - have);
    if (n > 0) have += size_t(n);
    if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN))) continue;
    end(n == 0 ? "the closing statement is missing" : strerror(errno));
  }
  buffer_.resize(have);
  return have == bytes;
}

StreamReader::Wait StreamReader::read_section(int ms) {
  if (!readable(ms)) return Wait::nothing;
  buffer_.clear();
  if (ended_ || !fill(kSectionOverhead)) return Wait::end;
  const uint64_t length = section_length(buffer_);
  if (length == 0) return end("no section begins there"), Wait::end;
  if (!fill(length)) return Wait::end;
  const std::optional<Section> section = parse_section(buffer_);
  if (!section) return end("checksum mismatch"), Wait::end;
  switch (section->type) {
    case SectionType::header:
      if (section->version > kTraceVersion) return end(fmt::format("format version {}", section->version)), Wait::end;
      if (decoder_ || !decode_header(section->body, &header_)) return end("no header"), Wait::end;
      decoder_ = std::make_unique<BlockDecoder>(header_.clock_unit);
      break;
    case SectionType::block:
      if (!decoder_) return end("a block without a header"), Wait::end;
      read_block(section->body);
      break;
    case SectionType::index:
      break;
    case SectionType::closing:
      closed_ = decode_closing(section->body, &closing_);
      bytes_ += buffer_.size();
      end("the closing statement can't be read");
      if (closed_) look_behind();
      return Wait::end;
  }
  bytes_ += buffer_.size();
  return ended_ ? Wait::end : Wait::came;
}

// Tells as damage what follows the closing statement, such as another trace.
void StreamReader::look_behind() {
  char byte;
  if (!readable(kBehind) || (stop_ && stop_->load() != 0) || read(fd_.get(), &byte, 1) != 1) return;
  damage_ = fmt::format("something follows the closing statement at byte {}; it is not read", bytes_);
}

// Counts the memory of a block anew.
void StreamReader::count(Block& block) {
  held_ -= block.bytes;
  block.bytes = block.batch.arena.memory() + block.batch.ops.capacity() * sizeof(Op);
  held_ += block.bytes;
}

void StreamReader::read_block(std::string_view body) {
  const std::optional<BlockHeader> header = parse_block_header(body);
  if (!header) return end("a block header is damaged");
  const size_t before = buffer_.size();
  if (!fill(before + header->compressed_bytes) || (header->checkpoint() && begun_)) return;
  std::string_view record;
  std::string why;
  if (!zstd_.decompress(std::string_view(buffer_).substr(before), &record, &why)) return end(why);
  if (header->checkpoint()) {
    if (!read_checkpoint(record)) end("a checkpoint can't be decoded");
    return;
  }
  begun_ = true;
  if (!decoder_->begin(record)) return end("a record can't be decoded");
  Block& block = blocks_.emplace_back();
  block.arrived = clock_ns(CLOCK_MONOTONIC);
  block.batch.ops.reserve(std::min(header->ops, kMaxRows));
  decoder_->new_batch();
  for (Row row;;) {
    Op op;
    if (!decoder_->next(&op, &row, block.batch.arena)) break;
    if (row.impossible) return end(std::string("an operation with impossible ") + row.impossible);
    if (row.type == RowType::end) {
      join(op);
      continue;
    }
    if (row.type == RowType::start) {
      op.op_flags |= kOpUnfinished;
      ++block.pending;
    }
    block.batch.ops.push_back(op);
  }
  count(block);
  if (!decoder_->ok()) end("the columns of a record can't be decoded");
}

// Reads a part of the first checkpoint.
bool StreamReader::read_checkpoint(std::string_view record) {
  constexpr size_t kHead = 8, kMost = 512 << 20;  // bytes
  if (record.size() < kHead || record[0] != 'C' || checkpoint_.size() + record.size() > kMost) return false;
  checkpoint_ += record.substr(kHead);
  if (record[1]) return true;  // more parts follow
  const std::string whole = std::exchange(checkpoint_, {});
  return initial_.restore(whole);
}

// Completes the operation of which `end` tells the outcome, if it is still here.
void StreamReader::join(const Op& end) {
  for (Block& block : blocks_) {
    auto& ops = block.batch.ops;
    const auto found = std::lower_bound(ops.begin(), ops.end(), end.seq, [](const Op& op, uint64_t seq) { return op.seq < seq; });
    if (found == ops.end() || found->seq != end.seq) continue;
    if (!found->has(kOpUnfinished) || found->kind != end.kind || block.pending == 0) return;
    const uint64_t seq = found->seq;
    const int64_t start = found->start;
    *found = copy_op(end, block.batch.arena);
    found->seq = seq;
    found->start = start;
    --block.pending;
    count(block);
    return;
  }
  ++late_ends_;
  if (receive_end_) receive_end_(end);
}

// Passes on the oldest block if nothing in it is waited for.
bool StreamReader::pass(OpBatch& batch) {
  while (!blocks_.empty()) {
    Block& first = blocks_.front();
    if (first.batch.ops.empty()) {
      held_ -= first.bytes;
      blocks_.pop_front();
      continue;
    }
    const bool waits = first.pending && !ended_ && held_ <= kMostHeld;
    if (waits && clock_ns(CLOCK_MONOTONIC) - first.arrived < patience_) return false;
    held_ -= first.bytes;
    batch = std::move(first.batch);
    blocks_.pop_front();
    // A lock that is waited for longer is not waited for here, because nothing would tell when it was granted.
    for (Op& op : batch.ops)
      if (op.has(kOpUnfinished)) op.op_flags &= uint16_t(~kOpWait);
    return true;
  }
  return false;
}

StreamReader::Wait StreamReader::next_within(OpBatch& batch, int ms) {
  batch.clear();
  const int64_t until = ms < 0 ? INT64_MAX : clock_ns(CLOCK_MONOTONIC) + ms * 1'000'000ll;
  while (!pass(batch)) {
    if (ended_) return Wait::end;
    constexpr int64_t kLongest = 1'000'000;  // ms
    const int64_t now = clock_ns(CLOCK_MONOTONIC);
    int64_t wait = std::min(kLongest, (until - now) / 1'000'000);
    if (wait <= 0) return Wait::nothing;
    if (!blocks_.empty()) wait = std::clamp<int64_t>((blocks_.front().arrived + patience_ - now) / 1'000'000 + 1, 0, wait);
    read_section(int(wait));
  }
  return Wait::came;
}

bool StreamReader::next(OpBatch& batch) { return next_within(batch, -1) == Wait::came; }

}  // namespace fsr
