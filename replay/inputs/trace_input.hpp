// SPDX-License-Identifier: Apache-2.0
// A captured trace: its initial image, and its operations at the recorded times.
#pragma once

#include "inputs/input.hpp"

namespace fsr {

extern const InputPlugin trace_plugin;

}  // namespace fsr
