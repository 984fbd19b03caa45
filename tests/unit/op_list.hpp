// SPDX-License-Identifier: Apache-2.0
// A source of operations that a test lists.
#pragma once

#include <fcntl.h>

#include <string>
#include <vector>

#include "op_source.hpp"

namespace fsr {

class OpList final : public OpSource {
 public:
  OpList() = default;
  explicit OpList(std::vector<Op> ops, size_t batch = 3) : ops_(std::move(ops)), batch_(batch) {
    for (size_t i = 0; i < ops_.size(); ++i) ops_[i].seq = i;
  }
  bool next(OpBatch& batch) override {
    batch.clear();
    while (at_ < ops_.size() && batch.ops.size() < batch_) batch.ops.push_back(copy_op(ops_[at_++], batch.arena));
    return !batch.ops.empty();
  }

 private:
  std::vector<Op> ops_;
  size_t batch_ = 3;
  size_t at_ = 0;
};

// Start and end of an operation in us, and its thread: [start, end).
struct When {
  int64_t start, end;
  ThreadId thread = 1;
};
inline Op op_at(When when, OpKind kind) {
  Op op;
  op.kind = kind;
  op.start = when.start * 1000;
  op.duration = (when.end - when.start) * 1000;
  op.thread = when.thread;
  return op;
}
inline Op name_op(When when, OpKind kind, ObjectId parent, std::string_view name, ObjectId object, int error = 0) {
  Op op = op_at(when, kind);
  op.parent = parent;
  op.name = name;
  op.object = object;
  op.error = error;
  return op;
}
inline Op create_op(When when, ObjectId parent, std::string_view name, ObjectId object, HandleId handle) {
  Op op = name_op(when, OpKind::create, parent, name, object);
  op.open_flags = O_CREAT | O_EXCL | O_RDWR;
  op.handle = handle;
  op.op_flags = kOpCreated;
  return op;
}
inline Op io_op(When when, OpKind kind, ObjectId object, HandleId handle, uint64_t offset = 0, uint64_t length = 4096) {
  Op op = op_at(when, kind);
  op.object = object;
  op.handle = handle;
  op.offset = offset;
  op.length = op.result = length;
  return op;
}
inline Op object_op(When when, OpKind kind, ObjectId object, HandleId handle = 0) {
  Op op = op_at(when, kind);
  op.object = object;
  op.handle = handle;
  return op;
}

}  // namespace fsr
