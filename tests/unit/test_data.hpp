// SPDX-License-Identifier: Apache-2.0
// Where files for tests lie.
#pragma once

#include <string>

namespace fsr {

// The path of tests/data/NAME; NAME may begin with "..".
std::string test_data(const std::string& name);

}  // namespace fsr
