// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/missing_watch.hpp"

#include <cerrno>
#include <utility>

#include "base/no_answer.hpp"
#include "plan/name_views.hpp"

namespace fsr {

class MissingWatch::Watched final : public SessionLayer {
 public:
  Watched(MissingWatch& owner, std::unique_ptr<TargetSession> session) : SessionLayer(std::move(session)), owner_(owner) {}

 private:
  void ended(TargetRequest& request, bool) override { owner_.look(request); }

  MissingWatch& owner_;
};

std::unique_ptr<TargetSession> MissingWatch::open_session() { return std::make_unique<Watched>(*this, below_.open_session()); }

void MissingWatch::look(const TargetRequest& request) {
  const Op& op = *request.op;
  const int error = request.outcome.error;
  if (op.error || op.has(kOpUnfinished)) return;
  // A server that was restarted may not have done what it did not answer.
  if (error != ENOENT && error != ESTALE && !(is_no_answer(error) && changes_names(op))) return;
  const std::lock_guard lock(mutex_);
  for (const ObjectId object : {op.object, op.parent, op.parent2})
    if (object > kRootObject) missing_.insert(object);
}

std::unordered_set<ObjectId> MissingWatch::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(missing_, {});
}

}  // namespace fsr
