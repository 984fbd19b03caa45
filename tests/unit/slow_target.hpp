// SPDX-License-Identifier: Apache-2.0
// A target whose operations take a given time on a virtual clock, and that records which operation was done when.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"

namespace fsr {

struct Performed {
  uint64_t seq;
  int64_t issued, ended;
};

class SlowTarget final : public Target {
 public:
  explicit SlowTarget(VirtualClock& clock) : clock_(clock) {}
  std::function<int64_t(const Op&)> latency = [](const Op&) { return 0; };  // ns; negative: never completes
  std::function<void(TargetRequest&)> answer = [](TargetRequest&) {};       // changes the outcome
  size_t limit = SIZE_MAX;                                                  // operations in flight, at most
  std::vector<Performed> done;                                              // in order of issue; ended 0: never

  std::string name() const override { return "slow:"; }
  Fidelity fidelity(const Op& op) const override { return op.kind == OpKind::ioctl ? Fidelity::impossible : Fidelity::exact; }
  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<SlowSession>(*this); }
  const Performed* of(uint64_t seq) const {
    for (const Performed& p : done)
      if (p.seq == seq) return &p;
    return nullptr;
  }

 private:
  class SlowSession final : public TargetSession {
   public:
    explicit SlowSession(SlowTarget& target) : target_(target) {}
    Submit submit(TargetRequest& r) override {
      if (waiting_.size() >= target_.limit) return Submit::busy;
      int64_t now = target_.clock_.now(), takes = target_.latency(*r.op);
      target_.done.push_back({r.op->seq, now, takes < 0 ? 0 : now + takes});
      if (takes >= 0) waiting_.emplace(now + takes, &r);
      return Submit::queued;
    }
    void poll(int64_t deadline, int, Completion& sink) override {
      const int64_t before = target_.clock_.now();
      look(deadline, sink);
      idle_ = target_.clock_.now() == before ? idle_ + 1 : 0;
      if (idle_ > kMostIdle) throw std::logic_error("waits without sleeping");
    }

   private:
    static constexpr unsigned kMostIdle = 100'000;
    void look(int64_t deadline, Completion& sink) {
      if (!waiting_.empty() && waiting_.begin()->first <= std::max(deadline, target_.clock_.now())) {
        target_.clock_.advance_to(waiting_.begin()->first);
        auto first = waiting_.begin();
        TargetRequest& r = *first->second;
        waiting_.erase(first);
        r.outcome.error = r.op->error;
        r.outcome.result = r.op->result;
        r.outcome.completed = target_.clock_.now();
        target_.answer(r);
        idle_ = 0;
        sink.completed(r);
      } else {
        target_.clock_.advance_to(deadline);
      }
    }

    SlowTarget& target_;
    std::multimap<int64_t, TargetRequest*> waiting_;
    unsigned idle_ = 0;  // polls in a row that completed nothing and took no time
  };
  VirtualClock& clock_;
};

}  // namespace fsr
