// SPDX-License-Identifier: Apache-2.0
// Kinds of operations as users name them. Free of threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "op.hpp"

namespace fsr {

std::vector<std::string> op_kind_names();

// Returns the kind of this name. Throws std::invalid_argument "no such kind of operation; ..." with the nearest name and all
// names.
OpKind op_kind_named(std::string_view name);

}  // namespace fsr
