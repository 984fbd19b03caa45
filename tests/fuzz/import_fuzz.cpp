// SPDX-License-Identifier: Apache-2.0
// Foreign traces, through every importer: what comes out is an operation that a trace may hold, and a tree may be built from it.
#include <cstdlib>
#include <deque>
#include <vector>

#include "import/import.hpp"
#include "import/op_order.hpp"
#include "trace/live_state.hpp"
#include "trace/model.hpp"

using namespace fsr;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

class Checker final : public ImportSink {
 public:
  void add(const Op& op) override {
    const uint16_t traits = kind_traits(op.kind);
    if (traits & kHasName && !valid_component(op.name)) abort();
    if (traits & kHasName2 && !valid_component(op.name2)) abort();
    if (traits & kHasName && !op.parent) abort();
    if (!op.who || op.who->id != op.thread || op.duration < 0) abort();
    order_.add(op);
  }
  void passed(int64_t start) override { order_.passed(start); }
  const ThreadInfo* thread(int32_t tid, int32_t pid, int32_t ppid, std::string_view) override {
    if (pid == 0) abort();  // would mean the kernel
    threads_.push_back({.id = ThreadId(threads_.size() + 1), .tid = tid, .pid = pid, .ppid = ppid});
    return &threads_.back();
  }
  void note(ImportNotes::Kind, std::string_view, uint64_t) override {}
  void finish() { order_.finish(); }

 private:
  LiveState state_;
  int64_t last_ = INT64_MIN;
  std::deque<ThreadInfo> threads_;
  OpOrder order_{64, [this](const Op& op) {
                   if (op.start < last_) abort();
                   last_ = op.start;
                   state_.apply(op);
                 }};
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<const Importer*> all(importers().begin(), importers().end());
  all.push_back(&kNfsdumpImporter);
  all.push_back(&kPcapImporter);
  for (const Importer* importer : all) {
    importer->sniff(bytes);
    ImportInput input(bytes);
    Checker sink;
    try {
      importer->run(input, {.directory = "/srv"}, sink);
    } catch (const ImportError&) {
    }
    sink.finish();
  }
  return 0;
}
