// SPDX-License-Identifier: Apache-2.0
// Lines for the user on what happens to a running capture, each cause once. Main thread.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "capture_mount.hpp"
#include "fuse_session.hpp"
#include "mount_watch.hpp"
#include "passthrough.hpp"
#include "stall_watch.hpp"

namespace fsr::shim {

class CaptureNotices {
 public:
  CaptureNotices(CaptureSetup& setup, CaptureMount& mount, MountWatch& watch, Shim& shim, const FuseSession& session)
      : setup_(setup), mount_(mount), watch_(watch), shim_(shim), session_(session), stalls_(setup.options.stall) {}

  // Returns what is new since the last call. Aborts the connection if the capture itself delays requests and the user chose that.
  // `now`: the recorder's time.
  std::vector<std::string> look(bool trace_closed, int64_t now);
  const StallWatch& stalls() const { return stalls_; }
  bool aborted() const { return noted_[kAborted]; }

 private:
  enum Cause {
    kEnded,
    kAborted,
    kMappingsRefused,
    kBasesMissing,
    kUnreadProgram,
    kPageFills,
    kDropsLost,
    kStranger,
    kClockSet,
    kCauses
  };
  bool first(Cause cause);  // true the first time

  CaptureSetup& setup_;
  CaptureMount& mount_;
  MountWatch& watch_;
  Shim& shim_;
  const FuseSession& session_;
  StallWatch stalls_;
  std::bitset<kCauses> noted_;
};

}  // namespace fsr::shim
