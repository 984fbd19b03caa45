// SPDX-License-Identifier: Apache-2.0
// Generates docs/operations.md, which shows what each target can do, from the targets' mappings.
#pragma once

#include <string>

namespace fsr {

std::string operations_table();  // Markdown

}  // namespace fsr
