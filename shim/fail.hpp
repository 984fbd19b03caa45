// SPDX-License-Identifier: Apache-2.0
// What stops a capture from starting, as the one line that the user sees.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>

namespace fsr {

struct Fail : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline Fail failed(const std::string& subject, int error) { return Fail(subject + ": " + strerror(error)); }

}  // namespace fsr
