// SPDX-License-Identifier: Apache-2.0
// Runs a captured trace: its initial image, and its operations at the recorded times.
#pragma once

#include "inputs/input_kind.hpp"

namespace fsr {

std::unique_ptr<InputKind> trace_kind();

}  // namespace fsr
