// SPDX-License-Identifier: Apache-2.0
#include "capture_summary.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "util/units.hpp"

namespace fsr::shim {

void print_summary(const TraceSink& sink, const CaptureOutput& output, uint64_t not_recorded, uint64_t waits, bool verbose) {
  uint64_t operations = sink.operations(), bytes = sink.trace_bytes();
  std::string more;
  if (sink.piece() > 1) more += " in " + std::to_string(sink.piece()) + " pieces";
  if (sink.filtered()) more += ", " + format_count(sink.filtered()) + " filtered out";
  dprintf(STDERR_FILENO,
          "fsshim: %s operations in %s -> %s (%s, %.1f bytes per operation)%s, %s not recorded, %s waits for memory\n",
          format_count(operations).c_str(), format_duration(sink.end()).c_str(), escape_text(output.trace()).c_str(),
          format_size(bytes).c_str(), operations ? double(bytes) / double(operations) : 0.0, more.c_str(),
          format_count(not_recorded).c_str(), format_count(waits).c_str());
  for (unsigned kind = 0; verbose && kind < kOpKinds; ++kind)
    if (uint64_t n = sink.by_kind()[kind])
      dprintf(STDERR_FILENO, "fsshim: %12s %s\n", format_count(n).c_str(), op_name(OpKind(kind)));
}

}  // namespace fsr::shim
