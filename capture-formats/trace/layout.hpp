// SPDX-License-Identifier: Apache-2.0
// Finds out how a trace file is laid out: from its index, or by walking it and searching for the next section after damage.
#pragma once

#include <string>
#include <vector>

#include "header.hpp"
#include "index.hpp"
#include "input_file.hpp"
#include "reader.hpp"

namespace fsr {

struct TraceLayout {
  TraceHeader header;
  bool has_closing = false;
  TraceClosing closing;
  std::vector<IndexEntry> blocks;
  std::vector<TraceDamage> damage;
};

// Throws std::runtime_error "FILE: reason" if the file is no trace, or has a newer version.
TraceLayout find_layout(InputFile& file);

}  // namespace fsr
