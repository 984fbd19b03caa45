// SPDX-License-Identifier: Apache-2.0
// What an importer makes of a text.
#pragma once

#include <deque>
#include <string>

#include "catch.hpp"
#include "import/import.hpp"
#include "import/op_order.hpp"
#include "op_source.hpp"

namespace fsr {

// Operations that an importer made of a text, in order of start.
struct Imported final : ImportSink {
  OpBatch batch;
  std::deque<ThreadInfo> threads;
  std::deque<std::string> commands;
  ImportNotes notes;
  OpOrder order{1000, [this](const Op& op) { batch.ops.push_back(copy_op(op, batch.arena)); }};

  Imported(const char* format, std::string_view text, const char* directory = "/w") {
    ImportInput input(text);
    find_importer(format)->run(input, {.directory = directory}, *this);
    order.finish();
  }
  void add(const Op& op) override { order.add(op); }
  void passed(int64_t start) override { order.passed(start); }
  const ThreadInfo* thread(int32_t tid, int32_t pid, int32_t ppid, std::string_view command) override {
    commands.emplace_back(command);
    threads.push_back({.id = ThreadId(threads.size() + 1), .tid = tid, .pid = pid, .ppid = ppid, .command = commands.back()});
    return &threads.back();
  }
  void note(ImportNotes::Kind kind, std::string_view why, uint64_t count) override {
    notes.counts[kind][std::string(why)].count += count;
  }
  // Returns the n-th operation of a kind.
  const Op& op(OpKind kind, size_t n = 0) const {
    for (const Op& o : batch.ops)
      if (o.kind == kind && n-- == 0) return o;
    FAIL("no such operation: " << op_name(kind));
    return batch.ops.front();
  }
  size_t count(OpKind kind) const {
    size_t n = 0;
    for (const Op& o : batch.ops) n += o.kind == kind;
    return n;
  }
};

}  // namespace fsr
