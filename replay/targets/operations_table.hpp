// SPDX-License-Identifier: Apache-2.0
// docs/operations.md: what each target can do, as its mapping states it.
#pragma once

#include <string>

namespace fsr {

std::string operations_table();  // Markdown

}  // namespace fsr
