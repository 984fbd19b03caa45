// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>

#include "report/report.hpp"
#include "util/units.hpp"

namespace fsr {

static std::string deviation_text(const MixDeviation& d) {
  if (d.where.empty()) return "as asked";
  return fmt::format("off by {:.2f} % in total, most {} by {:.2f}", d.total, d.where, d.largest);
}

std::string mix_text(const MixResult& mix) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "\n{:<16} {:>8} {:>8}{}\n", "mix", "asked", "issued", mix.wire_known ? "     wire" : "");
  for (const MixRow& row : mix.rows) {
    fmt::format_to(out, "{:<16} {:>6.2f} % {:>6.2f} %", row.name, row.asked * 100, row.issued_share * 100);
    if (mix.wire_known) fmt::format_to(out, " {:>6.2f} %", row.wire_share * 100);
    text += '\n';
  }
  fmt::format_to(out, "issued     {} calls, {}\n", format_count(mix.calls), deviation_text(mix.issued));
  if (mix.wire_known) {
    fmt::format_to(out, "wire       {} requests, {}", format_count(mix.wire_calls),
                   mix.wire_comparable ? deviation_text(mix.wire) : "of version 4, which has other procedures");
    if (mix.wire_internal) fmt::format_to(out, "; and {} of the client's own", format_count(mix.wire_internal));
    text += '\n';
  }
  for (const std::string& note : mix.notes) fmt::format_to(out, "mix        {}\n", note);
  return text;
}

}  // namespace fsr
