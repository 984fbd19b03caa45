// SPDX-License-Identifier: Apache-2.0
#include "reader.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "block_decoder.hpp"
#include "end_records.hpp"
#include "frame_codec.hpp"
#include "layout.hpp"
#include "live_state.hpp"
#include "op_limits.hpp"
#include "series.hpp"
#include "util/memory.hpp"

namespace fsr {

constexpr size_t kBatchOps = 2048;
constexpr size_t kMaxCheckpoint = 512u << 20;  // bytes
constexpr size_t kMaxLive = 2ull << 30;        // bytes of live state: some eight million files, what a largest checkpoint holds
constexpr size_t kMostLocks = 1 << 10;         // requests for locks that wait at one time, of as many threads

struct TraceReader::Impl {
  explicit Impl(InputFiles inputs, bool series = false)
      : layout(find_series_layout(inputs, series)),
        files(std::move(inputs)),
        decoder(unit()),
        ends([this](size_t i, const EndRecords::Visit& visit) { read_ends(i, visit); }),
        ends_decoder(unit()) {
    for (const auto& file : files) {
      file_begins.push_back(bytes);
      bytes += file->size();
    }
    for (size_t i = 0; i < layout.blocks.size(); ++i)
      if (layout.blocks[i].ends && !layout.blocks[i].checkpoint() && !ends.collect(i))
        damaged(i,
                "more than " + std::to_string(ends.most()) +
                    " operations end in a later block than they began in, so the others count as unfinished",
                ns(layout.blocks[i].first_start));
    rewind(0);
  }

  TraceLayout layout;
  InputFiles files;
  std::vector<uint64_t> file_begins;  // in the bytes of all
  uint64_t bytes = 0;
  FrameDecompressor zstd;
  BlockDecoder decoder;
  size_t block = 0;       // next to be opened
  bool in_block = false;  // decoder is inside block - 1
  int64_t skip_before = INT64_MIN;
  uint64_t skip_seq = 0;
  int64_t last_start = 0;
  EndRecords ends;
  FrameDecompressor ends_zstd;
  BlockDecoder ends_decoder;  // decoder may be inside a block meanwhile
  std::function<bool(const BlockContents&)> wanted;
  std::vector<bool> reported;  // blocks whose damage is in the list already

  uint32_t unit() const { return layout.header.clock_unit; }
  int64_t ns(int64_t units) const { return std::clamp(trace_ns(units, unit()), -kMostTime, kMostTime); }

  void damaged(size_t i, const std::string& what, int64_t from, bool lost = true) {
    if (reported.size() < layout.blocks.size()) reported.resize(layout.blocks.size());
    if (reported[i]) return;
    reported[i] = true;
    const IndexEntry& e = layout.blocks[i];
    const IndexEntry* next = i + 1 < layout.blocks.size() ? &layout.blocks[i + 1] : nullptr;
    layout.damage.push_back({.file_offset = e.offset,
                             .file_bytes = e.bytes,
                             .from = from,
                             .to = !lost  ? from
                                   : next ? ns(next->first_start)
                                          : -1,
                             .what = file_prefix(files, e.file) + "block " + std::to_string(e.number) + ": " + what});
  }

  // Decompresses the record of a block. False: the block is damaged, and is in the list of damage.
  bool record_of(size_t i, std::string_view* record, FrameDecompressor& by) {
    const IndexEntry& e = layout.blocks[i];
    std::string_view whole = files[e.file]->at(e.offset, e.bytes);
    if (whole.size() < e.bytes) return damaged(i, "can't be read", ns(e.first_start)), false;
    auto section = parse_section(whole.substr(0, kBlockHeaderSize));
    auto header = section && section->type == SectionType::block ? parse_block_header(section->body) : std::nullopt;
    std::string why;
    if (!by.decompress(whole.substr(kBlockHeaderSize), record, &why)) return damaged(i, why, ns(e.first_start)), false;
    // The index leads to the frame even where the header in front of it is broken.
    if (!header || header->first_seq != e.first_seq || header->ops != e.ops)
      damaged(i, "header damaged, operations undamaged", ns(e.first_start), false);
    return true;
  }

  bool open_block(size_t i, FrameDecompressor& by, BlockDecoder& into) {
    std::string_view record;
    const IndexEntry& e = layout.blocks[i];
    if (!record_of(i, &record, by)) return false;
    if (!into.begin(record) || into.rows_left() != uint64_t(e.ops) + e.ends || into.first_seq() != e.first_seq)
      return damaged(i, "the record can't be decoded", ns(e.first_start)), false;
    return true;
  }

  static std::string impossible(uint64_t count, const Row& first) {
    return std::to_string(count) + " or more operations with impossible " + first.impossible;
  }

  void read_ends(size_t i, const EndRecords::Visit& visit) {
    if (!open_block(i, ends_zstd, ends_decoder)) return;
    OpBatch batch;
    for (Row row;;) {
      Op op;
      if (!ends_decoder.next(&op, &row, batch.arena)) break;
      if (row.impossible)
        damaged(i, impossible(1, row), ns(layout.blocks[i].first_start));
      else if (row.type == RowType::end)
        visit(op);
      batch.clear();
      ends_decoder.new_batch();
    }
  }

  void rewind(size_t i) {
    block = i;
    in_block = false;
    skip_before = INT64_MIN;
    skip_seq = 0;
  }

  bool next(OpBatch& batch, bool every_block = false) {
    batch.clear();
    decoder.new_batch();
    while (batch.ops.empty()) {
      if (!in_block) {
        while (block < layout.blocks.size() && layout.blocks[block].checkpoint()) ++block;
        if (block == layout.blocks.size()) return false;
        in_block = open_block(block, zstd, decoder);
        if (in_block) last_start = ns(layout.blocks[block].first_start);
        ++block;
        if (in_block && wanted && !every_block) {
          const BlockContents contents = decoder.contents();
          in_block = !contents.complete || wanted(contents);
        }
        if (!in_block) continue;
      }
      fill(batch);
    }
    return true;
  }

  void fill(OpBatch& batch) {
    uint64_t unusable = 0;
    Row first_unusable;
    const int64_t from = last_start;
    batch.ops.reserve(kBatchOps);
    while (batch.ops.size() < kBatchOps) {
      Row row;
      Op& op = batch.ops.emplace_back();
      if (!decoder.next(&op, &row, batch.arena)) {
        batch.ops.pop_back();
        if (!decoder.ok()) damaged(block - 1, "the columns can't be decoded", last_start);
        in_block = false;
        break;
      }
      if (row.type == RowType::end) {
        batch.ops.pop_back();
        continue;
      }
      last_start = std::clamp(op.start, -kMostTime, kMostTime);
      if (row.type == RowType::start) join(op, batch.arena);
      if (row.impossible && unusable++ == 0) first_unusable = row;
      if (row.impossible || op.start < skip_before || op.seq < skip_seq) {
        batch.ops.pop_back();
        continue;
      }
      skip_before = INT64_MIN;
      skip_seq = 0;
    }
    if (unusable) damaged(block - 1, impossible(unusable, first_unusable), from);
  }

  void join(Op& op, Arena& arena) {
    const Op* end = ends.find(op.seq);
    if (!end || end->kind != op.kind) {
      op.op_flags |= kOpUnfinished;
      return;
    }
    const uint64_t seq = op.seq;
    const int64_t start = op.start;
    op = copy_op(*end, arena);
    op.seq = seq;
    op.start = start;
  }

  size_t first_block() const {
    size_t i = 0;
    while (i < layout.blocks.size() && layout.blocks[i].checkpoint()) ++i;
    return i;
  }

  void seek_time(int64_t start) {
    // Operations that start at the same instant may stand on both sides of a border between blocks: begin with the last block
    // that begins earlier.
    size_t i = first_block();
    for (size_t k = 0; k < layout.blocks.size(); ++k)
      if (!layout.blocks[k].checkpoint() && ns(layout.blocks[k].first_start) < start) i = k;
    rewind(i);
    skip_before = start;
  }

  void seek_op(uint64_t seq) {
    size_t i = first_block();
    for (size_t k = 0; k < layout.blocks.size(); ++k)
      if (!layout.blocks[k].checkpoint() && layout.blocks[k].first_seq <= seq) i = k;
    rewind(i);
    skip_seq = seq;
  }

  // Restores the checkpoint whose first part is block `i`.
  bool restore(size_t i, LiveState& state) {
    std::string whole;
    for (;; ++i) {
      std::string_view record;
      if (i >= layout.blocks.size() || !layout.blocks[i].checkpoint())
        return damaged(i - 1, "truncated checkpoint", ns(layout.blocks[i - 1].first_start), false), false;
      if (!record_of(i, &record, zstd)) return false;
      if (record.size() < 8 || record[0] != 'C')
        return damaged(i, "the checkpoint can't be decoded", ns(layout.blocks[i].first_start), false), false;
      whole += record.substr(8);
      if (whole.size() > kMaxCheckpoint)
        return damaged(i, "a checkpoint of more than 512 MiB", ns(layout.blocks[i].first_start), false), false;
      if (!record[1]) break;
    }
    if (!state.restore(whole))
      return damaged(i, "the checkpoint can't be decoded", ns(layout.blocks[i].first_start), false), false;
    return true;
  }

  bool first_part(size_t i) const {
    const auto& b = layout.blocks;
    return b[i].checkpoint() && (i == 0 || !b[i - 1].checkpoint() || !(b[i - 1].flags & kBlockEnds));
  }

  void check_checkpoints() {
    for (size_t i = 0; i < layout.blocks.size(); ++i) {
      LiveState state;
      state.limit(std::min(kMaxLive, memory_budget()));
      try {
        if (first_part(i)) restore(i, state);
      } catch (const std::length_error& e) {
        damaged(i, std::string("unreadable checkpoint: ") + e.what(), ns(layout.blocks[i].first_start), false);
      }
    }
  }

  void load_state(int64_t start, LiveState& state) {
    seek_time(start);
    // The first checkpoint counts too: that of a trace cut out of another one has the state at its start.
    size_t target = block;
    while (target < layout.blocks.size() && layout.blocks[target].checkpoint()) ++target;
    // If a checkpoint is damaged, an older one is taken. If all are, the state is built from the first operation on.
    size_t from = 0;
    uint64_t seq = 0;
    for (size_t i = target; i-- > 0;) {
      const IndexEntry& e = layout.blocks[i];
      if (first_part(i) && restore(i, state)) {
        from = i;
        seq = e.first_seq;
        break;
      }
    }
    std::vector<Op> locks;
    auto apply = [&](const Op& op) {
      if (!asks_for_lock(op) || op.end() < start)
        state.apply(op);
      else if (locks.size() < kMostLocks)
        locks.push_back({.start = op.start,
                         .duration = op.duration,
                         .kind = op.kind,
                         .mode = op.mode,
                         .object = op.object,
                         .handle = op.handle,
                         .offset = op.offset,
                         .length = op.length,
                         .owner = op.owner});
    };
    // Operations under way when the checkpoint was made are not in it.
    ends.each_across(seq, from, apply);

    rewind(from);
    OpBatch batch;
    for (bool before = true; before && next(batch, true);)
      for (const Op& op : batch.ops)
        if ((before = op.start < start))
          apply(op);
        else
          break;
    // Locks asked for before `start` and granted later: no operation from `start` on asks for them again. A lock that waited for
    // a lock held at `start` can't be held beside it.
    std::stable_sort(locks.begin(), locks.end(), [](const Op& a, const Op& b) { return a.end() < b.end(); });
    for (const Op& op : locks)
      if (state.grants(op)) state.apply(op);
    seek_time(start);
  }

  static bool asks_for_lock(const Op& op) {
    return !op.error && !op.has(kOpUnfinished) &&
           ((op.kind == OpKind::setlk && op.mode != F_UNLCK) || (op.kind == OpKind::flock && op.mode != LOCK_UN));
  }
};

TraceReader::TraceReader(const std::string& path) : TraceReader(std::vector<std::string>{path}) {}
TraceReader::TraceReader(int fd, const std::string& name) {
  InputFiles files;
  files.push_back(std::make_unique<InputFile>(fd, name));
  impl_ = std::make_unique<Impl>(std::move(files));
}
TraceReader::TraceReader(const std::vector<std::string>& paths, bool series) {
  InputFiles files;
  for (const std::string& path : paths) files.push_back(std::make_unique<InputFile>(path));
  impl_ = std::make_unique<Impl>(std::move(files), series);
}
TraceReader::~TraceReader() = default;

const TraceHeader& TraceReader::header() const { return impl_->layout.header; }
const TraceClosing* TraceReader::closing() const { return impl_->layout.has_closing ? &impl_->layout.closing : nullptr; }
const std::vector<TraceDamage>& TraceReader::damage() const { return impl_->layout.damage; }
uint64_t TraceReader::operations() const {
  const auto& blocks = impl_->layout.blocks;
  return blocks.empty() ? 0 : blocks.back().first_seq + blocks.back().ops - blocks.front().first_seq;
}
int64_t TraceReader::begin_time() const {
  const size_t first = impl_->first_block();
  const auto& blocks = impl_->layout.blocks;
  return impl_->layout.header.piece <= 1 || first == blocks.size() ? 0 : impl_->ns(blocks[first].first_start);
}
int64_t TraceReader::end_time() const {
  const auto& blocks = impl_->layout.blocks;
  return blocks.empty() ? 0 : impl_->ns(blocks.back().last_start);
}
uint64_t TraceReader::blocks() const { return impl_->layout.blocks.size(); }
size_t TraceReader::files() const { return impl_->files.size(); }
uint64_t TraceReader::file_bytes() const { return impl_->bytes; }
uint64_t TraceReader::position_bytes() const {
  const auto& blocks = impl_->layout.blocks;
  if (impl_->block >= blocks.size()) return impl_->bytes;
  return impl_->file_begins[blocks[impl_->block].file] + blocks[impl_->block].offset;
}
bool TraceReader::next(OpBatch& batch) { return impl_->next(batch); }
void TraceReader::leave_out_blocks(std::function<bool(const BlockContents&)> wanted) { impl_->wanted = std::move(wanted); }
void TraceReader::seek_time(int64_t start) { impl_->seek_time(start); }
void TraceReader::seek_op(uint64_t seq) { impl_->seek_op(seq); }
void TraceReader::check_checkpoints() { impl_->check_checkpoints(); }
void TraceReader::load_state(int64_t start, LiveState& state) {
  state.limit(std::min(kMaxLive, memory_budget()));
  try {
    impl_->load_state(start, state);
  } catch (const std::length_error& e) {
    throw std::runtime_error(impl_->files.front()->name() + ": " + e.what());
  }
}

}  // namespace fsr
