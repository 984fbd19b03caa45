// SPDX-License-Identifier: Apache-2.0
// Names of the counters of operations that a target did not issue, because it has no credentials of their user. The reason
// follows.
#pragma once

#include <string_view>

namespace fsr {

constexpr std::string_view kWithheld = "operations not issued: ";

}  // namespace fsr
