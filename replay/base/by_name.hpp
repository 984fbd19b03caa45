// SPDX-License-Identifier: Apache-2.0
// Optional interface of a session (FileSession has it): performs requests for files that are used by their names only, with
// little more than the system calls. Through TargetSession::submit(), a lookup of a cached name would take a fifth longer.
#pragma once

namespace fsr {

struct Op;
struct Outcome;

class ByName {
 public:
  // Performs a lookup, an unlink, or an exclusive create without a handle, whose `op` has no object, within the call. It may
  // block. Sets the outcome except its time; of the attributes, a lookup sets the type with the mode, and the size. False: this
  // session needs submit() for the request, and nothing was done. Call this on the session's thread, for the only request in
  // flight.
  virtual bool by_name(const Op& op, Outcome& outcome) = 0;

 protected:
  ~ByName() = default;
};

}  // namespace fsr
