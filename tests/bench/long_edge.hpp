// SPDX-License-Identifier: Apache-2.0
// The longest dependency: the first operation makes a file, the last one uses it, and no other operation concerns it. The target
// completes the first operation only when all others have been issued. In addition, there is a lock that was never granted in the
// capture.
#pragma once

#include <fcntl.h>

#include <atomic>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "op_source.hpp"

namespace fsr {

class LongEdgeSource final : public OpSource {
 public:
  explicit LongEdgeSource(uint64_t operations) : operations_(operations) {}

  bool next(OpBatch& batch) override {
    batch.clear();
    for (int n = 0; n < 1024 && seq_ < operations_; ++n) batch.ops.push_back(make());
    return !batch.ops.empty();
  }

 private:
  static constexpr ObjectId kFile = 2, kOthers = 3;
  Op make() {
    Op op{.seq = seq_, .start = int64_t(seq_) * 1000, .duration = 500, .thread = ThreadId(3 + seq_ % 61)};
    if (seq_ == 0) {
      op.kind = OpKind::create;
      op.thread = 1;
      op.parent = kRootObject;
      op.name = "first";
      op.op_flags = kOpCreated;
      op.object = kFile;
      op.handle = 1;
    } else if (seq_ == 1) {
      op.kind = OpKind::setlk;
      op.thread = 2;
      op.object = kRootObject;
      op.mode = F_WRLCK;
      op.op_flags = kOpWait | kOpUnfinished;
      op.duration = 0;
    } else if (seq_ == operations_ - 1) {
      op.kind = OpKind::read;
      op.object = kFile;
      op.handle = 1;
    } else {
      op.kind = seq_ % 3 ? OpKind::getattr : OpKind::access;
      op.object = kOthers + seq_ % 1000;
    }
    ++seq_;
    return op;
  }

  uint64_t operations_;
  uint64_t seq_ = 0;
};

class LongEdgeTarget final : public Target {
 public:
  LongEdgeTarget(Clock& clock, uint64_t operations) : clock_(clock), operations_(operations) {}
  std::string name() const override { return "long-edge:"; }
  Fidelity fidelity(const Op&) const override { return Fidelity::exact; }
  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<EdgeSession>(*this); }
  // True: the first operation ended before the last one was issued.
  bool in_order() const { return in_order_; }

 private:
  struct EdgeSession final : TargetSession {
    explicit EdgeSession(LongEdgeTarget& t) : target(t) {}
    Submit submit(TargetRequest& r) override {
      target.answer(r);
      if (r.op->seq == 0) {
        first = &r;
        return Submit::queued;
      }
      if (r.op->seq == target.operations_ - 1) target.in_order_ = target.first_ended_.load();
      ++target.others_;
      return Submit::completed;
    }
    void poll(int64_t, int, Completion& sink) override {
      // All operations but the first and the last have been issued.
      if (!first || target.others_ < target.operations_ - 2) return;
      target.first_ended_ = true;
      first->outcome.completed = target.clock_.now();
      sink.completed(*std::exchange(first, nullptr));
    }
    LongEdgeTarget& target;
    TargetRequest* first = nullptr;
  };
  void answer(TargetRequest& r) {
    r.outcome.error = r.op->error;
    r.outcome.result = r.op->result;
    r.outcome.completed = clock_.now();
  }

  Clock& clock_;
  uint64_t operations_;
  std::atomic<uint64_t> others_{0};
  std::atomic<bool> first_ended_{false}, in_order_{false};
};

}  // namespace fsr
