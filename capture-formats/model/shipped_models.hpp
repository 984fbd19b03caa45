// SPDX-License-Identifier: Apache-2.0
// Models that come with the programs, "model:NAME". They lie in share/fsreplay/models beside the program's own directory, or in
// the build directory. Plain functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"

namespace fsr {

constexpr std::string_view kShippedModel = "model:";

// Names without "model:", in order of the alphabet. Empty: the models are not installed.
std::vector<std::string> shipped_models();

// Reads a model file, or a model that comes with the programs. None: `name` is neither. Throws std::runtime_error, one line.
std::optional<LoadModel> model_by_name(const std::string& name);

// `name`: with "model:". Throws std::runtime_error, one line that lists the names.
LoadModel read_shipped_model(const std::string& name);

}  // namespace fsr
