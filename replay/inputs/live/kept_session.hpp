// SPDX-License-Identifier: Apache-2.0
// A target for many short runs, one after another, each with one worker. They use the same session, and so the same connection.
#pragma once

#include <memory>

#include "base/target_layer.hpp"

namespace fsr {

class KeptSession final : public TargetLayer {
 public:
  explicit KeptSession(Target& below);
  ~KeptSession() override;
  // Only one session may be open at a time. Its end leaves the connection as it is, unless requests are in flight.
  std::unique_ptr<TargetSession> open_session() override;

 private:
  class Lent;
  std::unique_ptr<TargetSession> session_;  // null: lent, or none was opened yet
};

}  // namespace fsr
