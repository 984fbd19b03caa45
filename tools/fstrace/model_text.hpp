// SPDX-License-Identifier: Apache-2.0
// Describes the load of a model in words.
#pragma once

#include <string>

#include "model/model.hpp"

namespace fsr::fstrace {

std::string content_text(const LoadModel& model);  // "12 symbols, 3 courses"
std::string model_text(const LoadModel& model);    // lines, each with a newline

}  // namespace fsr::fstrace
