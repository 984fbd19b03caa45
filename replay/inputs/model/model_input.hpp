// SPDX-License-Identifier: Apache-2.0
// Runs a model of a load: its operations are made up as a trace in a temporary file, which is then replayed.
#pragma once

#include "inputs/input_kind.hpp"
#include "inputs/input_options.hpp"

namespace fsr {

std::unique_ptr<InputKind> model_kind(InputOptions& options);

}  // namespace fsr
