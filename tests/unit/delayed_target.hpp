// SPDX-License-Identifier: Apache-2.0
// Performs operations on another target, each a random time after it was submitted, and completes them another random time later,
// on a virtual clock.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"

namespace fsr {

class DelayedTarget final : public Target {
 public:
  DelayedTarget(Target& beneath, VirtualClock& clock, unsigned seed) : beneath_(beneath), clock_(clock), random_(seed) {}
  std::string name() const override { return beneath_.name(); }
  Fidelity fidelity(const Op& op) const override { return beneath_.fidelity(op); }
  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<DelayedSession>(*this); }

 private:
  class DelayedSession final : public TargetSession, Completion {
   public:
    explicit DelayedSession(DelayedTarget& target) : target_(target), beneath_(target.beneath_.open_session()) {}
    Submit submit(TargetRequest& r) override {
      later(Event::perform, r);
      return Submit::queued;
    }
    void poll(int64_t deadline, int wake, Completion& sink) override {
      const int64_t next = events_.empty() ? INT64_MAX : events_.begin()->first;
      const int64_t until = std::max(std::min(next, deadline), target_.clock_.now());
      if (waiting_ != 0) {  // for a lock
        const unsigned before = waiting_;
        beneath_->poll(until, wake, *this);
        if (waiting_ != before) return;
      }
      target_.clock_.advance_to(until);
      if (next > until) return;
      const auto [what, request] = events_.begin()->second;
      events_.erase(events_.begin());
      if (what == Event::answer) {
        const Answer answer = std::move(answers_.extract(request).mapped());
        Outcome& outcome = request->outcome;
        outcome.completed = target_.clock_.now();
        outcome.data = answer.data;
        outcome.entries = answer.entries;
        sink.completed(*request);
      } else if (beneath_->submit(*request) == Submit::completed) {
        performed(*request);
      } else {
        ++waiting_;
      }
    }

   private:
    enum class Event { perform, answer };
    struct Answer {  // copies of what is valid only during a completion
      std::string data;
      std::deque<std::string> names;
      std::vector<DirEntry> entries;
    };
    void later(Event what, TargetRequest& r) {
      std::mt19937& random = target_.random_;
      const int64_t ns = int64_t(random() % (random() % 3 ? 5 : 200)) * 1000;
      events_.emplace(target_.clock_.now() + ns, std::pair(what, &r));
    }
    void completed(TargetRequest& r) override {
      --waiting_;
      performed(r);
    }
    void performed(TargetRequest& r) {
      Answer& answer = answers_[&r];
      answer.data = r.outcome.data;
      for (DirEntry entry : r.outcome.entries) {
        entry.name = answer.names.emplace_back(entry.name);
        answer.entries.push_back(entry);
      }
      later(Event::answer, r);
    }

    DelayedTarget& target_;
    std::unique_ptr<TargetSession> beneath_;
    std::multimap<int64_t, std::pair<Event, TargetRequest*>> events_;
    std::map<TargetRequest*, Answer> answers_;
    unsigned waiting_ = 0;
  };

  Target& beneath_;
  VirtualClock& clock_;
  std::mt19937 random_;
};

}  // namespace fsr
