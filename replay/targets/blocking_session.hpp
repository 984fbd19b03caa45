// SPDX-License-Identifier: Apache-2.0
// Performs one operation at a time on a target and waits for its outcome, for checks, set-up and tools. Used by one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/target.hpp"
#include "op_source.hpp"

namespace fsr {

class BlockingSession final : private Completion {
 public:
  // `timeout`: ns to wait for the outcome of an operation. Throws std::runtime_error if no session can be opened.
  BlockingSession(Target& target, Clock& clock, int64_t timeout = 60'000'000'000);
  ~BlockingSession();

  // Performs `op` and returns its outcome. Data and entries are copies, valid until the next perform(). An error of the target is
  // never thrown. Further errors: EOPNOTSUPP: the target can't express the operation. ETIMEDOUT: no reply came in time. EINTR:
  // the user ended the run before a reply came (Clock::given_up). After an operation without a reply, all later ones fail with
  // ETIMEDOUT.
  const Outcome& perform(const Op& op, std::string_view payload = {});

 private:
  void completed(TargetRequest& request) override;
  void keep();

  Target& target_;
  Clock& clock_;
  const int64_t timeout_;
  std::unique_ptr<TargetSession> session_;
  std::unique_ptr<TargetRequest> request_;  // stays unchanged if its operation is abandoned in flight
  Op op_;
  bool done_ = false;
  Arena arena_;
};

// True: the directory has no entries, fsreplay's own marker included. `error`: receives an errno, or 0. With an error, returns
// false.
bool is_empty(BlockingSession& session, ObjectId directory, int* error);
// True: the target's root is empty, and no replay has marked it. Throws std::runtime_error if the root can't be listed.
bool root_is_empty(Target& target, Clock& clock);

// Releases the open instances, until the target leaves one release without a reply for a second. Throws std::runtime_error if
// there are any and no session can be opened.
void release_all(Target& target, Clock& clock, const std::vector<HandleId>& handles);

}  // namespace fsr
