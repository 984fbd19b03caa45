// SPDX-License-Identifier: Apache-2.0
#include "block_decoder.hpp"

#include <array>
#include <utility>

#include "op_limits.hpp"
#include "time_code.hpp"

namespace fsr {

struct BlockDecoder::Impl {
  explicit Impl(uint32_t unit) : clock_unit(unit) {}

  struct Shape {
    OpKind kind;
    uint32_t mask;
  };

  const int64_t clock_unit;
  std::array<ByteReader, kColumns> columns;
  BitReader start_bits, duration_bits;
  Context x;
  std::vector<Shape> shapes;
  std::vector<const ThreadInfo*> thread_copies;  // per local thread, in the caller's arena
  uint32_t rows_left = 0, entries_left = 0;
  int64_t last_start = 0;
  uint64_t next_seq = 0;
  uint32_t mask = 0, attr_mask = 0, attr_valid = 0;
  Arena* arena = nullptr;
  bool ok = false;
  bool entries_usable = true;

  bool begin(std::string_view record) {
    ok = false;
    rows_left = 0;
    ByteReader in(record);
    if (in.u8() != 'O') return false;
    in.bytes(3);
    uint32_t length = in.u32();
    next_seq = in.u64();
    last_start = int64_t(in.u64());
    uint32_t rows = in.u32();
    uint64_t count = in.varint();
    if (!in.ok() || length != record.size() || rows > kMaxRows || count > record.size()) return false;
    std::vector<std::pair<uint64_t, uint64_t>> directory;
    for (; count && in.ok(); --count) {
      uint64_t number = in.varint();
      directory.emplace_back(number, in.varint());
    }
    columns = {};
    start_bits = BitReader();
    duration_bits = BitReader();
    for (auto [number, size] : directory) {
      std::string_view bytes = in.bytes(size);
      if (number >= kColumns) continue;  // of a later minor version
      columns[number] = ByteReader(bytes);
      if (number == kColStartBits) start_bits = BitReader(bytes);
      if (number == kColDurationBits) duration_bits = BitReader(bytes);
    }
    if (!in.ok()) return false;
    x.clear();
    shapes.clear();
    thread_copies.assign(1, nullptr);
    rows_left = rows;
    entries_left = kMaxEntries;
    ok = true;
    return true;
  }

  uint64_t get(Column col) {
    uint64_t v = columns[col].varint();
    ok &= columns[col].ok();
    return v;
  }
  int64_t get_signed(Column col) { return unzigzag(get(col)); }
  uint8_t get_byte(Column col) {
    uint8_t v = columns[col].u8();
    ok &= columns[col].ok();
    return v;
  }

  template <class T>
  void value(uint32_t bit, Column col, T& v, uint64_t expected) {
    v = T(mask & bit ? get(col) : expected);
  }
  void delta(uint32_t bit, Column col, uint64_t& v, uint64_t expected) {
    v = mask & bit ? expected + uint64_t(get_signed(col)) : expected;
  }
  void pair(uint32_t bit, Column col, uint32_t& v, uint32_t expected, Column col2, uint32_t& v2, uint32_t expected2) {
    v = mask & bit ? uint32_t(get(col)) : expected;
    v2 = mask & bit ? uint32_t(get(col2)) : expected2;
  }
  template <class Used>
  bool any(uint32_t bits, Used) const {
    return (mask & bits) != 0;
  }
  bool present(uint32_t bit, bool) { return (mask & bit) != 0; }
  bool has_attr(const Op&) const { return false; }

  // A reference of any dictionary with `count` entries: an index, or kFresh.
  uint32_t reference(Column col, size_t count) {
    uint64_t ref = get(col);
    if (ref == kNone) return kNone;
    if (ref == kRefNew) return kFresh;
    if (ref - kRefBack >= count - 1) return ok = false, kNone;
    return uint32_t(count - 1 - (ref - kRefBack));
  }
  uint32_t object(uint32_t bit, Column col, ObjectId& id, uint32_t expected) {
    uint32_t index = expected;
    if (mask & bit) {
      index = reference(col, x.objects.size());
      if (index == kFresh) x.define_object(x.last_object_id + uint64_t(get_signed(kColObjectDefinition)));
    } else if (index == kFresh) {
      x.define_object(x.next_object_id);
    }
    if (index == kFresh) index = uint32_t(x.objects.size() - 1);
    id = x.objects[index].id;
    return index;
  }
  uint32_t handle(uint32_t bit, Column col, HandleId& id, uint32_t expected) {
    uint32_t index = expected;
    if (mask & bit) {
      index = reference(col, x.handles.size());
      if (index == kFresh) x.define_handle(x.last_handle_id + uint64_t(get_signed(kColHandleDefinition)));
    } else if (index == kFresh) {
      x.define_handle(x.next_handle_id);
    }
    if (index == kFresh) index = uint32_t(x.handles.size() - 1);
    id = x.handles[index].id;
    return index;
  }
  uint32_t name_reference(Column col) {
    uint32_t index = reference(col, x.names.size());
    if (index != kFresh) return index;
    std::string_view text = columns[kColNameBytes].bytes(get(kColNameLength));
    ok &= columns[kColNameBytes].ok();
    x.names.push_back({.text = text, .component = plausible_component(text)});
    return uint32_t(x.names.size() - 1);
  }
  uint32_t name(uint32_t bit, std::string_view& s, uint32_t expected) {
    uint32_t index = mask & bit ? name_reference(kColName) : expected;
    s = x.names[index].text;  // copied once the operation is known to be usable
    return index;
  }

  // Reads the next definition of a thread. False: only its number is known.
  static bool define_thread(ByteReader& definitions, ByteReader& commands, ThreadId* last, ThreadInfo* who) {
    who->id = *last = ThreadId(*last + definitions.svarint());
    if (definitions.u8() == 0) return false;
    who->client = uint32_t(definitions.varint());
    who->tid = int32_t(definitions.svarint());
    who->pid = int32_t(definitions.svarint());
    who->ppid = int32_t(definitions.svarint());
    who->start_ticks = definitions.varint();
    who->command = commands.text();
    return true;
  }

  BlockContents contents() const {
    BlockContents out;
    ByteReader kinds = columns[kColShapeDefinition];
    while (kinds.left()) {
      const uint8_t kind = kinds.u8();
      const uint64_t bits = kinds.varint();
      out.complete &= kinds.ok() && kind < kOpKinds;
      if (out.complete && !(bits & kRowEnd)) out.kinds |= uint64_t(1) << kind;
    }
    ByteReader definitions = columns[kColThreadDefinition], commands = columns[kColThreadCommand];
    for (ThreadId last = 0; definitions.left();) {
      ThreadInfo who;
      if (define_thread(definitions, commands, &last, &who)) out.threads.push_back(who);
    }
    out.complete &= definitions.ok() && commands.ok();
    return out;
  }

  uint32_t thread(Op& op, uint32_t expected) {
    uint32_t index = mask & kRowThread ? reference(kColThread, x.threads.size()) : expected;
    if (index == kFresh) {
      ThreadContext t;
      t.has_who = define_thread(columns[kColThreadDefinition], columns[kColThreadCommand], &x.last_thread_id, &t.who);
      ok &= columns[kColThreadDefinition].ok() && columns[kColThreadCommand].ok();
      index = uint32_t(x.threads.size());
      x.threads.push_back(t);
      thread_copies.push_back(nullptr);
    }
    const ThreadContext& t = x.threads[index];
    op.thread = t.who.id;
    if (t.has_who) {
      if (!thread_copies[index]) {
        ThreadInfo* copy = arena->make<ThreadInfo>();
        *copy = t.who;
        copy->command = arena->copy(t.who.command);
        thread_copies[index] = copy;
      }
      op.who = thread_copies[index];
    }
    return index;
  }

  void entries(Op& op, Context&) {
    uint64_t count = get(kColEntryCount);
    if (count > entries_left || count > columns[kColEntryType].left()) {
      ok = false;
      return;
    }
    entries_left -= uint32_t(count);
    DirEntry* e = arena->make<DirEntry>(count);
    for (uint64_t i = 0; i < count && ok; ++i) {
      uint32_t index = name_reference(kColEntryName);
      const NameContext& n = x.names[index];
      if (n.text.empty() || (!n.component && n.text != "." && n.text != "..")) entries_usable = false;
      e[i].name = arena->copy(n.text);
      e[i].ino = x.last_ino += uint64_t(get_signed(kColEntryIno));
      e[i].type = uint32_t(get_byte(kColEntryType)) << 12;
    }
    op.entries = {e, count};
  }
  void data(std::string_view& s) {
    s = arena->copy(columns[kColDataBytes].bytes(get(kColDataLength)));
    ok &= columns[kColDataBytes].ok();
  }
  void blocks(std::span<const BlockPrint>& out) {
    const uint64_t count = get(kColBlockCount);
    if (count > columns[kColBlockLevel].left()) ok = false;
    if (!ok) return;
    BlockPrint* prints = arena->make<BlockPrint>(count);
    for (uint64_t i = 0; i < count; ++i) {
      prints[i].level = get_byte(kColBlockLevel);
      if (prints[i].level) prints[i].hash = columns[kColBlockHash].u64();
    }
    ok &= columns[kColBlockHash].ok();
    out = {prints, count};
  }
  void set(const Attr*& out) {
    Attr* a = arena->make<Attr>();
    out = a;
    a->valid = uint32_t(get(kColSetMask));
    if (a->valid & kAttrMode) a->mode = uint32_t(get(kColSetValue));
    if (a->valid & kAttrUid) a->uid = uint32_t(get(kColSetValue));
    if (a->valid & kAttrGid) a->gid = uint32_t(get(kColSetValue));
    if (a->valid & kAttrSize) a->size = get(kColSetValue);
    if (a->valid & kAttrAtime) a->atime = get_signed(kColSetValue);
    if (a->valid & kAttrMtime) a->mtime = get_signed(kColSetValue);
    if (a->valid & kAttrCtime) a->ctime = get_signed(kColSetValue);
    if (a->valid & kAttrBtime) a->btime = get_signed(kColSetValue);
  }

  void attr(const Attr*& out, Context& context, ObjectContext& of, const Attr* set) {
    Attr* a = arena->make<Attr>();
    out = a;
    attr_mask = uint32_t(get(kColAttrMask));
    attr_valid = attr_mask & kAttrMaskValid ? uint32_t(get(kColAttrMask)) : of.has_attr ? of.attr.valid : context.last_attr.valid;
    code_attr(*this, context, of, set, *a);
  }
  void attr_begin(uint32_t& valid, uint32_t) { valid = attr_valid; }
  template <class T>
  void attr_value(uint32_t field, Column col, T& v, uint64_t expected) {
    if (attr_valid & field) v = T(attr_mask & field ? get(col) : expected);
  }
  void attr_delta(uint32_t field, Column col, uint64_t& v, uint64_t expected) {
    if (attr_valid & field) v = attr_mask & field ? expected + uint64_t(get_signed(col)) : expected;
  }
  void attr_time(uint32_t field, int64_t& v, int64_t expected, int64_t* last) {
    if (!(attr_valid & field)) return;
    v = expected;
    if (attr_mask & field) *last = v = int64_t(uint64_t(*last) + uint64_t(get_signed(kColAttrTime)));
  }
  void attr_end() {}

  int64_t ns(int64_t units) {
    int64_t out = 0;
    ok &= !__builtin_mul_overflow(units, clock_unit, &out);
    return out;
  }

  bool shape(Shape* out) {
    uint64_t index = get(kColShape);
    if (index == shapes.size() && ok) {
      uint8_t kind = get_byte(kColShapeDefinition);
      uint32_t bits = uint32_t(get(kColShapeDefinition));
      if (kind >= kOpKinds) return ok = false;  // a new kind is a new format version
      shapes.push_back({OpKind(kind), bits});
    }
    if (index >= shapes.size() || !ok) return ok = false;
    *out = shapes[index];
    return true;
  }

  bool next(Op* op, Row* row) {
    Shape s;
    if (!ok || rows_left == 0 || !shape(&s)) return false;
    mask = s.mask;
    entries_usable = true;
    op->kind = s.kind;
    row->type = mask & kRowEnd ? RowType::end : mask & kRowStart ? RowType::start : RowType::whole;
    if (row->type == RowType::end) {
      op->seq = next_seq - uint64_t(get_signed(kColEndSeq));
      int64_t start;
      ok &= !__builtin_add_overflow(last_start, get_signed(kColEndSeq), &start);
      op->start = ns(start);
    } else {
      uint8_t c = get_byte(kColStartClass);
      if (c > kMaxTimeClass && c != kTimeNegative) ok = false;
      int64_t step = c == kTimeNegative ? get_signed(kColTimeEscape) : int64_t(get_time(std::min(c, kMaxTimeClass), start_bits));
      ok &= !__builtin_add_overflow(last_start, step, &last_start);
      op->start = ns(last_start);
      op->seq = next_seq++;
    }
    if (row->type != RowType::start) {
      uint8_t c = get_byte(kColDurationClass);
      if (c > kMaxTimeClass) ok = false;
      op->duration = ns(int64_t(get_time(std::min(c, kMaxTimeClass), duration_bits)));
    }
    code_op(*this, x, *op);
    ok &= start_bits.ok() && duration_bits.ok();
    if (!ok) return false;
    row->impossible = entries_usable ? impossible_part(*op, row->type != RowType::start) : "names";
    op->name = arena->copy(op->name);
    op->name2 = arena->copy(op->name2);
    --rows_left;
    return true;
  }
};

BlockDecoder::BlockDecoder(uint32_t clock_unit) : impl_(std::make_unique<Impl>(clock_unit)) {}
BlockDecoder::~BlockDecoder() = default;
bool BlockDecoder::begin(std::string_view record) { return impl_->begin(record); }
bool BlockDecoder::next(Op* op, Row* row, Arena& arena) {
  impl_->arena = &arena;
  return impl_->next(op, row);
}
void BlockDecoder::new_batch() { std::fill(impl_->thread_copies.begin(), impl_->thread_copies.end(), nullptr); }
bool BlockDecoder::ok() const { return impl_->ok; }
uint64_t BlockDecoder::first_seq() const { return impl_->next_seq; }
BlockContents BlockDecoder::contents() const { return impl_->contents(); }
uint32_t BlockDecoder::rows_left() const { return impl_->rows_left; }

}  // namespace fsr
