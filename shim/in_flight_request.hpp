// SPDX-License-Identifier: Apache-2.0
// The requests that are being answered at this moment, whether or not they are recorded.
//
// Each thread that answers requests notes its own, which takes a few nanoseconds. Any thread may read the notes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "op.hpp"

namespace fsr::shim {

struct InFlightRequest {
  OpKind kind;
  pid_t caller;   // thread that waits for the answer; 0: none
  pid_t thread;   // thread of fsshim that answers it
  int64_t since;  // coarse_now()
};

void note_request(OpKind kind, pid_t caller);
void note_answered();

// Returns the requests in flight that arrived before that time, the oldest first.
std::vector<InFlightRequest> in_flight_since(int64_t before);

}  // namespace fsr::shim
