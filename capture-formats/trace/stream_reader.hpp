// SPDX-License-Identifier: Apache-2.0
// Reads a trace from a pipe while it is being written. Layout: docs/trace-format.md.
//
// Unlike TraceReader it needs no index, keeps only what it has not passed on, and returns operations as soon as their block has
// come. An operation whose end has not come yet holds back those behind it, for `patience` at most, and until kMostHeld bytes of
// operations wait. Memory is bounded so, whatever the stream compresses to. One thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "op_source.hpp"
#include "trace/frame_codec.hpp"
#include "trace/header.hpp"
#include "trace/live_state.hpp"
#include "util/unique_fd.hpp"

namespace fsr {

class BlockDecoder;

class StreamReader final : public OpSource {
 public:
  static constexpr size_t kMostHeld = 64 << 20;  // bytes of decoded operations, content included; one block may go beyond

  // Takes over `fd` and waits for the header. `patience`: ns. `stop`: see heed(). Throws std::runtime_error "NAME: ..." if no
  // trace comes.
  StreamReader(int fd, std::string name, int64_t patience, const std::atomic<int>* stop = nullptr);
  ~StreamReader() override;

  void heed(const std::atomic<int>* stop) { stop_ = stop; }  // the stream ends once it is not 0; may be null
  const TraceHeader& header() const { return header_; }
  // Null: the closing statement has not come, or never will (ended()).
  const TraceClosing* closing() const { return closed_ ? &closing_ : nullptr; }
  bool ended() const { return ended_; }
  // The state of the tree before the first operation, known once an operation has come. Most captures begin without any.
  const LiveState& initial() const { return initial_; }
  // Receives each end that came too late for its operation, which has the same number, kind and start.
  void on_late_end(std::function<void(const Op& end)> receive) { receive_end_ = std::move(receive); }
  // Number of operations whose end came after they had been passed on as unfinished, by `patience` or by kMostHeld.
  uint64_t late_ends() const { return late_ends_; }
  // Why the stream ended without a closing statement, or that something followed it, with the offset. Empty: neither, or the flag
  // of heed() ended it.
  const std::string& damage() const { return damage_; }

  // Waits for operations. False: the stream has ended.
  bool next(OpBatch& batch) override;
  enum class Wait : uint8_t { came, nothing, end };
  // As next(), but waits for `ms` at most. `nothing`: no block came.
  Wait next_within(OpBatch& batch, int ms);

 private:
  struct Block {
    OpBatch batch;
    size_t pending = 0;   // operations without an end
    int64_t arrived = 0;  // CLOCK_MONOTONIC, ns
    size_t bytes = 0;     // of memory, counted in held_
  };

  bool readable(int ms);
  Wait read_section(int ms);
  bool fill(size_t bytes);
  void read_block(std::string_view body);
  bool read_checkpoint(std::string_view record);
  void count(Block& block);
  void look_behind();
  void join(const Op& end);
  bool pass(OpBatch& batch);
  void end(const std::string& why);

  const UniqueFd fd_;
  const std::string name_;
  const int64_t patience_;  // ns
  const std::atomic<int>* stop_ = nullptr;
  TraceHeader header_;
  TraceClosing closing_;
  bool closed_ = false, ended_ = false;
  std::string damage_;
  std::string buffer_;  // of the section that is being read
  uint64_t bytes_ = 0;
  FrameDecompressor zstd_;
  std::unique_ptr<BlockDecoder> decoder_;
  std::deque<Block> blocks_;
  size_t held_ = 0;  // bytes of blocks_
  LiveState initial_;
  std::string checkpoint_;  // parts of the first one
  bool begun_ = false;      // operations have come
  std::function<void(const Op& end)> receive_end_;
  uint64_t late_ends_ = 0;
};

}  // namespace fsr
