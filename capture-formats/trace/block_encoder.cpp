// SPDX-License-Identifier: Apache-2.0
#include "block_encoder.hpp"

#include <xxhash.h>

#include <array>
#include <stdexcept>
#include <string>

#include "../op_source.hpp"
#include "../util/check.hpp"
#include "local_index.hpp"
#include "time_code.hpp"

namespace fsr {

constexpr size_t kOwnZstdBlock = 4096;  // bytes

struct BlockEncoder::Impl {
  Impl(uint32_t unit, bool attrs, BlockFill& filled) : clock_unit(unit), attributes(attrs), fill(filled) {}

  const uint32_t clock_unit;
  const bool attributes;
  std::array<ByteWriter, kColumns> columns;
  BitWriter start_bits, duration_bits;
  Context x;
  LocalIndex threads, objects, handles, names, shapes;
  Arena text;
  BlockHeader header;
  BlockFill& fill;
  uint32_t shape_count = 0;
  struct LastShape {
    uint32_t mask = 0, number = LocalIndex::kAbsent;
  };
  std::array<LastShape, kOpKinds> last_shapes;
  int64_t first_start = 0, last_start = 0;
  uint64_t next_seq = 0;
  uint32_t mask = 0;
  uint32_t attr_mask = 0, attr_valid = 0;
  ByteWriter record;
  std::vector<size_t> borders;

  void begin(uint64_t first_seq) {
    for (ByteWriter& c : columns) c.clear();
    start_bits.clear();
    duration_bits.clear();
    x.clear();
    for (LocalIndex* d : {&threads, &objects, &handles, &names, &shapes}) d->clear();
    text.clear();
    header = {.first_seq = first_seq};
    fill = {};
    shape_count = 0;
    last_shapes.fill({});
    next_seq = first_seq;
  }

  // The Coder that code_op() and code_attr() drive.
  template <class T>
  void value(uint32_t bit, Column col, const T& v, uint64_t expected) {
    if (uint64_t(v) == expected) return;
    mask |= bit;
    columns[col].varint(uint64_t(v));
  }
  void delta(uint32_t bit, Column col, uint64_t v, uint64_t expected) {
    if (v == expected) return;
    mask |= bit;
    columns[col].svarint(int64_t(v - expected));
  }
  void pair(uint32_t bit, Column col, uint32_t v, uint32_t expected, Column col2, uint32_t v2, uint32_t expected2) {
    if (v == expected && v2 == expected2) return;
    mask |= bit;
    columns[col].varint(v);
    columns[col2].varint(v2);
  }
  template <class Used>
  bool any(uint32_t, Used used) const {
    return used();
  }
  bool present(uint32_t bit, bool is) {
    if (is) mask |= bit;
    return is;
  }
  bool has_attr(const Op& op) const { return attributes && op.attr; }

  static constexpr uint32_t known(uint32_t index, size_t count) { return uint32_t(kRefBack + (count - 1 - index)); }

  // A reference to `id` in one of the dictionaries of numbers, where it is not the expected entry; `define` appends the new
  // entry.
  template <class Entries, class Define>
  uint32_t reference(uint32_t bit, Column col, uint64_t id, uint32_t expected, LocalIndex& index, const Entries& entries,
                     uint64_t next_id, Define define) {
    if (id == 0) {
      mask |= bit;
      columns[col].varint(kNone);
      return kNone;
    }
    const size_t count = entries.size();
    uint32_t& slot = index.at(id);
    if (slot != LocalIndex::kAbsent) {
      mask |= bit;
      columns[col].varint(known(slot, count));
      return slot;
    }
    slot = uint32_t(count);
    const bool foreseen = expected == kFresh && id == next_id;
    if (!foreseen) {
      mask |= bit;
      columns[col].varint(kRefNew);
    }
    define(!foreseen);
    return uint32_t(count);
  }
  // The expected entry mostly is the right one, also that of "none", whose number is 0.
  uint32_t object(uint32_t bit, Column col, ObjectId id, uint32_t expected) {
    if (expected != kFresh && x.objects[expected].id == id) return expected;
    return other_object(bit, col, id, expected);
  }
  [[gnu::noinline]] uint32_t other_object(uint32_t bit, Column col, ObjectId id, uint32_t expected) {
    return reference(bit, col, id, expected, objects, x.objects, x.next_object_id, [&](bool is_new) {
      if (is_new) columns[kColObjectDefinition].svarint(int64_t(id - x.last_object_id));
      x.define_object(id);
    });
  }
  uint32_t handle(uint32_t bit, Column col, HandleId id, uint32_t expected) {
    if (expected != kFresh && x.handles[expected].id == id) return expected;
    return other_handle(bit, col, id, expected);
  }
  [[gnu::noinline]] uint32_t other_handle(uint32_t bit, Column col, HandleId id, uint32_t expected) {
    return reference(bit, col, id, expected, handles, x.handles, x.next_handle_id, [&](bool is_new) {
      if (is_new) columns[kColHandleDefinition].svarint(int64_t(id - x.last_handle_id));
      x.define_handle(id);
    });
  }

  uint32_t name_index(std::string_view s, bool* fresh) {
    *fresh = false;
    if (s.empty()) return kNone;
    // Two names with one hash: the later one takes the next key.
    for (uint64_t key = XXH3_64bits(s.data(), s.size());; ++key) {
      uint32_t& slot = names.at(key);
      if (slot == LocalIndex::kAbsent) {
        slot = uint32_t(x.names.size());
        x.names.push_back({.text = text.copy(s)});
        columns[kColNameLength].varint(s.size());
        columns[kColNameBytes].bytes(s);
        fill.bytes += s.size() + 1;
        *fresh = true;
        return slot;
      }
      if (x.names[slot].text == s) return slot;
    }
  }
  void name_reference(Column col, uint32_t index, bool fresh) {
    columns[col].varint(index == kNone ? kNone : fresh ? kRefNew : known(index, x.names.size()));
  }
  uint32_t name(uint32_t bit, std::string_view s, uint32_t expected) {
    if (expected != kNone ? x.names[expected].text == s : s.empty()) return expected;
    bool fresh;
    uint32_t index = name_index(s, &fresh);
    mask |= bit;
    name_reference(kColName, index, fresh);
    return index;
  }

  uint32_t thread(const Op& op, uint32_t expected) {
    const ThreadContext& last = x.threads[expected];
    if (op.who && op.who->edition && op.who->edition == last.who.edition) return expected;
    auto same = [&](const ThreadContext& t) {
      if (!op.who) return true;
      return t.has_who && t.who.pid == op.who->pid && t.who.tid == op.who->tid && t.who.start_ticks == op.who->start_ticks &&
             t.who.command == op.who->command;
    };
    if (op.thread == last.who.id && same(last)) return expected;
    mask |= kRowThread;
    ByteWriter& out = columns[kColThread];
    if (op.thread == 0 && !op.who) {
      out.varint(kNone);
      return kNone;
    }
    uint32_t& slot = threads.at(op.thread);
    if (slot != LocalIndex::kAbsent && same(x.threads[slot])) {
      out.varint(known(slot, x.threads.size()));
      return slot;
    }
    slot = uint32_t(x.threads.size());
    ThreadContext t;
    if ((t.has_who = op.who != nullptr)) t.who = *op.who;
    t.who.id = op.thread;
    t.who.command = text.copy(t.who.command);
    x.threads.push_back(t);
    out.varint(kRefNew);
    ByteWriter& def = columns[kColThreadDefinition];
    def.svarint(int64_t(op.thread) - int64_t(x.last_thread_id));
    x.last_thread_id = op.thread;
    def.u8(t.has_who);
    if (t.has_who) {
      def.varint(t.who.client);
      def.svarint(t.who.tid);
      def.svarint(t.who.pid);
      def.svarint(t.who.ppid);
      def.varint(t.who.start_ticks);
      columns[kColThreadCommand].text(t.who.command);
    }
    fill.bytes += 24;
    return slot;
  }

  void entries(const Op& op, Context&) {
    columns[kColEntryCount].varint(op.entries.size());
    for (const DirEntry& e : op.entries) {
      bool fresh;
      uint32_t index = name_index(e.name, &fresh);
      name_reference(kColEntryName, index, fresh);
      columns[kColEntryIno].svarint(int64_t(e.ino - x.last_ino));
      x.last_ino = e.ino;
      columns[kColEntryType].u8(uint8_t(e.type >> 12));
    }
    fill.entries += uint32_t(op.entries.size());
    fill.bytes += op.entries.size() * 5;
  }
  void data(std::string_view s) {
    columns[kColDataLength].varint(s.size());
    columns[kColDataBytes].bytes(s);
    fill.bytes += s.size();
  }
  void set(const Attr* a) {
    columns[kColSetMask].varint(a->valid);
    ByteWriter& out = columns[kColSetValue];
    if (a->valid & kAttrMode) out.varint(a->mode);
    if (a->valid & kAttrUid) out.varint(a->uid);
    if (a->valid & kAttrGid) out.varint(a->gid);
    if (a->valid & kAttrSize) out.varint(a->size);
    if (a->valid & kAttrAtime) out.svarint(a->atime);
    if (a->valid & kAttrMtime) out.svarint(a->mtime);
    if (a->valid & kAttrCtime) out.svarint(a->ctime);
    if (a->valid & kAttrBtime) out.svarint(a->btime);
  }

  void blocks(std::span<const BlockPrint> prints) {
    columns[kColBlockCount].varint(prints.size());
    for (const BlockPrint& p : prints) {
      columns[kColBlockLevel].u8(p.level);
      if (p.level) columns[kColBlockHash].u64(p.hash);
    }
    fill.bytes += prints.size() * 9;
  }

  void attr(const Attr* a, Context& context, ObjectContext& of, const Attr* set) { code_attr(*this, context, of, set, *a); }
  void attr_begin(uint32_t valid, uint32_t expected) {
    attr_valid = valid;
    attr_mask = valid == expected ? 0 : kAttrMaskValid;
  }
  void attr_value(uint32_t field, Column col, uint64_t v, uint64_t expected) {
    if (!(attr_valid & field) || v == expected) return;
    attr_mask |= field;
    columns[col].varint(v);
  }
  void attr_delta(uint32_t field, Column col, uint64_t v, uint64_t expected) {
    if (!(attr_valid & field) || v == expected) return;
    attr_mask |= field;
    columns[col].svarint(int64_t(v - expected));
  }
  void attr_time(uint32_t field, int64_t v, int64_t expected, int64_t* last) {
    if (!(attr_valid & field) || v == expected) return;
    attr_mask |= field;
    columns[kColAttrTime].svarint(int64_t(uint64_t(v) - uint64_t(*last)));
    *last = v;
  }
  void attr_end() {
    columns[kColAttrMask].varint(attr_mask);
    if (attr_mask & kAttrMaskValid) columns[kColAttrMask].varint(attr_valid);
    fill.bytes += 4;
  }

  int64_t units(int64_t ns) const {
    int64_t q = ns / clock_unit;
    return q * int64_t(clock_unit) > ns ? q - 1 : q;  // rounded down, also before the epoch
  }

  // Number of the row's shape, its kind and mask. Mostly that of the last row of the kind.
  uint32_t shape(OpKind kind) {
    LastShape& last = last_shapes[unsigned(kind)];
    if (last.mask == mask && last.number != LocalIndex::kAbsent) return last.number;
    uint32_t& slot = shapes.at(uint64_t(mask) << 8 | uint8_t(kind));
    if (slot == LocalIndex::kAbsent) {
      slot = shape_count++;
      columns[kColShapeDefinition].u8(uint8_t(kind));
      columns[kColShapeDefinition].varint(mask);
    }
    last = {mask, slot};
    return slot;
  }

  void add(const Op& op, RowType type, uint64_t seq) {
    mask = 0;
    const int64_t start = units(op.start);
    if (fill.rows == 0) {
      // A block that begins with an end record begins, for seeking, where the block before it ended.
      if (type != RowType::end) last_start = start;
      header.first_start = header.last_start = first_start = last_start;
    }
    // Both ends are rounded down, so that what came first in nanoseconds does not come second in units.
    const int64_t duration = op.duration > 0 ? units(op.start + op.duration) - start : 0;
    FSR_CHECK(type != RowType::end || seq < next_seq, "the end of operation " + std::to_string(seq) + " comes before its start");
    if (type == RowType::end) {
      mask |= kRowEnd;
      columns[kColEndSeq].svarint(int64_t(next_seq - seq));
      columns[kColEndSeq].svarint(start - last_start);
      ++header.ends;
      header.flags |= kBlockEnds;
    } else {
      if (start >= last_start) {
        put_time(uint64_t(start - last_start), columns[kColStartClass], start_bits);
      } else {
        columns[kColStartClass].u8(kTimeNegative);
        columns[kColTimeEscape].svarint(start - last_start);
      }
      last_start = start;
      header.last_start = std::max(header.last_start, start);
      ++header.ops;
      ++next_seq;
    }
    if (type == RowType::start)
      mask |= kRowStart;
    else
      put_time(uint64_t(duration), columns[kColDurationClass], duration_bits);

    code_op(*this, x, op);

    columns[kColShape].varint(shape(op.kind));
    ++fill.rows;
  }

  std::string_view column(unsigned i) const {
    return i == kColStartBits ? start_bits.view() : i == kColDurationBits ? duration_bits.view() : columns[i].view();
  }

  std::string_view finish() {
    FSR_CHECK(fill.rows == header.ops + header.ends, std::to_string(fill.rows) + " rows");
    start_bits.finish();
    duration_bits.finish();
    ByteWriter directory;
    unsigned count = 0;
    size_t body = 0;
    for (unsigned i = 0; i < kColumns; ++i) {
      if (column(i).empty()) continue;
      ++count;
      directory.varint(i);
      directory.varint(column(i).size());
      body += column(i).size();
    }
    ByteWriter counter;
    counter.varint(count);
    record.clear();
    borders.clear();
    record.u8('O');
    for (int i = 0; i < 3; ++i) record.u8(0);
    record.u32(uint32_t(kRecordHead + counter.size() + directory.size() + body));
    record.u64(header.first_seq);
    record.u64(uint64_t(first_start));
    record.u32(fill.rows);
    record.bytes(counter.view());
    record.bytes(directory.view());
    for (unsigned i = 0; i < kColumns; ++i) {
      size_t last = borders.empty() ? 0 : borders.back();
      // A zstd block costs a header and an entropy table: only columns of some size get their own.
      if (column(i).size() >= kOwnZstdBlock && record.size() > last) borders.push_back(record.size());
      record.bytes(column(i));
      if (column(i).size() >= kOwnZstdBlock) borders.push_back(record.size());
    }
    header.raw_bytes = uint32_t(record.size());
    return record.view();
  }
};

BlockEncoder::BlockEncoder(uint32_t clock_unit, bool attributes) : impl_(std::make_unique<Impl>(clock_unit, attributes, fill_)) {
  impl_->begin(0);
}
BlockEncoder::~BlockEncoder() = default;
void BlockEncoder::begin(uint64_t first_seq) { impl_->begin(first_seq); }
void BlockEncoder::add(const Op& op, RowType type, uint64_t seq) {
  if (op.data.size() > kMaxData) throw std::length_error("trace: more than 32 MiB of data in one operation");
  if (op.entries.size() > kMaxEntries) throw std::length_error("trace: too many directory entries in one operation");
  impl_->add(op, type, seq);
}
const BlockHeader& BlockEncoder::header() const { return impl_->header; }
std::string_view BlockEncoder::record() { return impl_->finish(); }
const std::vector<size_t>& BlockEncoder::borders() const { return impl_->borders; }
std::string_view BlockEncoder::column(unsigned number) const { return impl_->column(number); }

}  // namespace fsr
