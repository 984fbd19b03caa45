// SPDX-License-Identifier: Apache-2.0
// One operation at a time, waited for: what checks, set-up and tools need of a target. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/target.hpp"
#include "op_source.hpp"

namespace fsr {

class BlockingSession final : private Completion {
 public:
  // `patience`: for an operation, ns. Throws std::runtime_error when no session can be had.
  BlockingSession(Target& target, Clock& clock, int64_t patience = 60'000'000'000);
  ~BlockingSession();

  // The outcome, its data and entries copied: valid until the next perform(). Never throws for what the target answers; an
  // operation that the target can't express answers EOPNOTSUPP, one that got no answer in time ETIMEDOUT, and EINTR when the user
  // wanted an end (Clock::given_up); ETIMEDOUT all after it.
  const Outcome& perform(const Op& op, std::string_view payload = {});

 private:
  void completed(Request& request) override;
  void keep();

  Target& target_;
  Clock& clock_;
  const int64_t patience_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Request> request_;  // left alone when abandoned in flight
  Op op_;
  bool done_ = false;
  Arena arena_;
};

// Whether nothing is in the target's root, not even our own marker. Throws std::runtime_error if it can't be listed.
bool root_is_empty(Target& target, Clock& clock);

// Releases the open instances, as far as the target answers soon. Throws std::runtime_error if there are any and no session can
// be had.
void release_all(Target& target, Clock& clock, const std::vector<HandleId>& handles);

}  // namespace fsr
