// SPDX-License-Identifier: Apache-2.0
// The input of --live: a capture that goes on, by a pipe.
#pragma once

#include <memory>

#include "inputs/input_kind.hpp"
#include "inputs/input_options.hpp"

namespace fsr {

std::unique_ptr<InputKind> live_kind(InputOptions& options);

}  // namespace fsr
