// SPDX-License-Identifier: Apache-2.0
// The utilities of vdbench, which the first word of its command line selects: parseflat, compare, printjournal, dvpost, print,
// sds, csim and dsim.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "util/command.hpp"

namespace fsr {

// Declares them. Returns a function that runs the chosen one and returns its exit status. None: no utility was chosen. The
// function throws std::exception with one line if something can't be read.
std::function<std::optional<int>()> add_vdbench_utilities(Command& command);

// Throws std::runtime_error with the reason if `word` is a utility of the original that is refused.
void refuse_vdbench_utility(const std::string& word);

}  // namespace fsr
