// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/kept_session.hpp"

#include <utility>

namespace fsr {

// Counts the requests in flight, because a session that holds some can't be used by another run.
class KeptSession::Lent final : public SessionLayer {
 public:
  Lent(KeptSession& owner, std::unique_ptr<TargetSession> session) : SessionLayer(std::move(session)), owner_(owner) {}
  ~Lent() override {
    if (in_flight_ == 0) owner_.session_ = std::move(below_);
  }

 private:
  void began(const TargetRequest&) override { ++in_flight_; }
  void ended(TargetRequest&, bool was_queued) override { in_flight_ -= was_queued; }

  KeptSession& owner_;
  size_t in_flight_ = 0;
};

KeptSession::KeptSession(Target& below) : TargetLayer(below) {}
KeptSession::~KeptSession() = default;

std::unique_ptr<TargetSession> KeptSession::open_session() {
  if (!session_) session_ = below_.open_session();
  return std::make_unique<Lent>(*this, std::move(session_));
}

}  // namespace fsr
