// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/kept_session.hpp"

#include <utility>

namespace fsr {

// Counts the requests in flight, because a session that holds some can't be used by another run.
class KeptSession::Lent final : public TargetSession, private Completion {
 public:
  Lent(KeptSession& owner, std::unique_ptr<TargetSession> session) : owner_(owner), session_(std::move(session)) {}
  ~Lent() override {
    if (in_flight_ == 0) owner_.session_ = std::move(session_);
  }

  Submit submit(TargetRequest& request) override {
    const Submit submitted = session_->submit(request);
    in_flight_ += submitted == Submit::queued;
    return submitted;
  }
  void poll(int64_t deadline, int wake, Completion& sink) override {
    sink_ = &sink;
    session_->poll(deadline, wake, *this);
  }
  void prefer_throughput() override { session_->prefer_throughput(); }

 private:
  void completed(TargetRequest& request) override {
    --in_flight_;
    sink_->completed(request);
  }

  KeptSession& owner_;
  std::unique_ptr<TargetSession> session_;
  Completion* sink_ = nullptr;
  size_t in_flight_ = 0;
};

KeptSession::KeptSession(Target& below) : TargetLayer(below) {}
KeptSession::~KeptSession() = default;

std::unique_ptr<TargetSession> KeptSession::open_session() {
  if (!session_) session_ = below_.open_session();
  return std::make_unique<Lent>(*this, std::move(session_));
}

}  // namespace fsr
