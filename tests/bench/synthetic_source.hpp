// SPDX-License-Identifier: Apache-2.0
// A long, repeatable stream of operations as a busy file server sees it. It has many streams, a constant number of live files,
// and the usual mixture of lookups, attributes, opens, reads, writes, creations and removals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "op_source.hpp"

namespace fsr {

class SyntheticSource final : public OpSource {
 public:
  struct Shape {
    uint64_t operations = 1'000'000;
    uint64_t objects = 100'000;  // alive at any time
    uint32_t streams = 32;
    int64_t interval = 1000;  // ns between starts
    int64_t duration = 20'000;
  };
  explicit SyntheticSource(const Shape& shape) : shape_(shape), files_(shape.objects), streams_(shape.streams) {
    for (uint64_t i = 0; i < shape.objects; ++i) files_[i] = {next_object_++, uint32_t(i)};
  }

  bool next(OpBatch& batch) override {
    batch.clear();
    for (int n = 0; n < 4096 && seq_ < shape_.operations; ++n) batch.ops.push_back(make(batch.arena));
    return !batch.ops.empty();
  }

 private:
  static constexpr ObjectId kDirectories = 256;
  struct File {
    ObjectId object = 0;
    uint32_t name = 0;
  };
  struct Stream {
    int step = 0;  // position in the sequence from open to release
    uint64_t file = 0;
    HandleId handle = 0;
  };

  uint64_t random() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  void name(Op& op, Arena& arena, const File& file) {
    char text[24];
    int n = snprintf(text, sizeof text, "file-%u", file.name);
    op.parent = 2 + file.name % kDirectories;
    op.name = arena.copy({text, size_t(n)});
  }

  Op make(Arena& arena) {
    Op op;
    op.seq = seq_;
    op.start = int64_t(seq_) * shape_.interval;
    op.duration = shape_.duration;
    op.thread = ThreadId(1 + seq_ % shape_.streams);
    ++seq_;
    Stream& s = streams_[op.thread - 1];
    if (s.step == 0) {
      // Each stream owns a share of the files, so that its operations on them are serial.
      s.file = random() % (shape_.objects / shape_.streams) * shape_.streams + (op.thread - 1);
    }
    File& file = files_[s.file];
    op.object = file.object;
    switch (s.step) {
      case 0:
        op.kind = OpKind::lookup;
        name(op, arena, file);
        s.step = random() % 8 == 0 ? 8 : 1;
        break;
      case 1:
        op.kind = OpKind::getattr;
        s.step = random() % 2 ? 2 : 0;
        break;
      case 2:
        op.kind = OpKind::open;
        op.handle = s.handle = next_handle_++;
        s.step = 3;
        break;
      case 3:
      case 4:
      case 5:
        op.kind = random() % 4 ? OpKind::read : OpKind::write;
        op.handle = s.handle;
        op.offset = random() % 16 * 4096;
        op.length = op.result = 4096;
        ++s.step;
        break;
      case 6:
        op.kind = OpKind::flush;
        op.handle = s.handle;
        s.step = 7;
        break;
      case 7:
        op.kind = OpKind::release;
        op.handle = s.handle;
        s.step = 0;
        break;
      case 8:
        op.kind = OpKind::unlink;
        name(op, arena, file);
        s.step = 9;
        break;
      case 9:
        op.kind = OpKind::create;
        name(op, arena, file);
        op.op_flags = kOpCreated;
        op.object = file.object = next_object_++;
        op.handle = s.handle = next_handle_++;
        s.step = 3;
        break;
    }
    return op;
  }

  Shape shape_;
  std::vector<File> files_;
  std::vector<Stream> streams_;
  uint64_t seq_ = 0;
  ObjectId next_object_ = 2 + kDirectories;
  HandleId next_handle_ = 1;
  uint64_t state_ = 88172645463325252ull;
};

}  // namespace fsr
