// SPDX-License-Identifier: Apache-2.0
// The target `null:`: completes each operation at once with the recorded outcome, to measure the replayer itself.
#include <poll.h>

#include <algorithm>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "targets/null/null.hpp"

namespace fsr {

namespace {

class NullSession final : public TargetSession {
 public:
  explicit NullSession(Clock& clock) : clock_(clock), virtual_(dynamic_cast<VirtualClock*>(&clock)) {}

  Submit submit(TargetRequest& request) override {
    const Op& op = *request.op;
    Outcome& out = request.outcome;
    out.error = op.error;
    out.result = op.result;
    out.data = op.data;
    out.entries = op.entries;
    out.completed = clock_.now();
    return Submit::completed;
  }

  void poll(int64_t deadline, int wake, Completion&) override {
    const int64_t now = clock_.now();
    if (deadline <= now) return;
    const int64_t left = deadline - now;
    if (virtual_) {
      virtual_->advance_to(deadline);
      return;
    }
    pollfd fd{wake, POLLIN, 0};
    timespec t{left / 1'000'000'000, left % 1'000'000'000};
    ppoll(&fd, wake >= 0, &t, nullptr);
  }

 private:
  Clock& clock_;
  VirtualClock* virtual_;
};

class NullTarget final : public Target {
 public:
  explicit NullTarget(Clock& clock) : clock_(clock) {}
  std::string name() const override { return "null:"; }
  Fidelity fidelity(const Op&) const override { return Fidelity::exact; }
  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<NullSession>(clock_); }

 private:
  Clock& clock_;
};

}  // namespace

const TargetPlugin null_plugin = {"null", "null:  does nothing and returns the recorded outcomes, to measure fsreplay itself",
                                  [](const std::string& url, const TargetOptions& options) -> std::unique_ptr<Target> {
                                    if (url != "null:" && url != "null://")
                                      throw std::runtime_error(url + ": expected null: without anything after the colon");
                                    return std::make_unique<NullTarget>(*options.clock);
                                  }};

}  // namespace fsr
