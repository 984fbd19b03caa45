// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/late_content.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace fsr {

void LateContent::made(const ImageObject& file) {
  if (file.type != S_IFREG || file.settled.covers(0, file.size())) return;
  files_[file.id] = {file.size(), file.settled};
}

uint64_t LateContent::collect(const ImageTree& tree, OpBatch& batch) {
  uint64_t bytes = 0, index = 1 + tree.names.size();  // ImageContents uses the spare handles before
  auto add = [&](OpKind kind, const ImageObject& o) -> Op& {
    Op& op = batch.ops.emplace_back();
    op.kind = kind;
    op.seq = batch.ops.size();
    op.thread = 1;
    op.object = o.id;
    op.handle = tree.spare_handle(index);
    return op;
  };
  for (const ImageObject& o : tree.objects) {
    const auto found = files_.find(o.id);
    if (found == files_.end()) continue;
    File& file = found->second;
    const size_t before = batch.ops.size();
    for (const ImageExtent& e : o.extents) {
      uint64_t at = e.offset;
      auto write = [&](uint64_t from, uint64_t to) {
        if (batch.ops.size() == before) add(OpKind::open, o).open_flags = O_RDWR;
        char* data = static_cast<char*>(batch.arena.allocate(to - from, 1));
        tree.spill.read(e.spilled + (from - e.offset), data, to - from);
        Op& op = add(OpKind::write, o);
        op.offset = from;
        op.length = op.result = to - from;
        op.op_flags = kOpData;
        op.data = {data, to - from};
        bytes += to - from;
      };
      for (const auto& [from, to] : file.settled.ranges()) {
        if (to <= at) continue;
        if (from >= e.offset + e.length) break;
        if (from > at) write(at, from);
        at = to;
      }
      if (at < e.offset + e.length) write(at, e.offset + e.length);
    }
    if (batch.ops.size() > before) add(OpKind::release, o), ++index;
    for (const auto& [from, to] : o.settled.ranges()) file.settled.add(from, to);
    if (file.settled.covers(0, file.size)) files_.erase(found);
  }
  return bytes;
}

}  // namespace fsr
