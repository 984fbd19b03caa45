// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/missing_watch.hpp"

#include <cerrno>
#include <utility>

namespace fsr {

class MissingWatch::Watched final : public TargetSession, private Completion {
 public:
  Watched(MissingWatch& owner, std::unique_ptr<TargetSession> session) : owner_(owner), session_(std::move(session)) {}
  Submit submit(TargetRequest& request) override {
    const Submit submitted = session_->submit(request);
    if (submitted == Submit::completed) owner_.look(request);
    return submitted;
  }
  void poll(int64_t deadline, int wake, Completion& sink) override {
    sink_ = &sink;
    session_->poll(deadline, wake, *this);
  }
  void prefer_throughput() override { session_->prefer_throughput(); }

 private:
  void completed(TargetRequest& request) override {
    owner_.look(request);
    sink_->completed(request);
  }

  MissingWatch& owner_;
  const std::unique_ptr<TargetSession> session_;
  Completion* sink_ = nullptr;
};

std::unique_ptr<TargetSession> MissingWatch::open_session() { return std::make_unique<Watched>(*this, below_.open_session()); }

void MissingWatch::look(const TargetRequest& request) {
  const Op& op = *request.op;
  const int error = request.outcome.error;
  if (op.error || op.has(kOpUnfinished) || (error != ENOENT && error != ESTALE)) return;
  const std::lock_guard lock(mutex_);
  for (const ObjectId object : {op.object, op.parent, op.parent2})
    if (object > kRootObject) missing_.insert(object);
}

std::unordered_set<ObjectId> MissingWatch::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(missing_, {});
}

}  // namespace fsr
