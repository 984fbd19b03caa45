// SPDX-License-Identifier: Apache-2.0
// Entries of TraceHeader::not_seen of a capture that misses changes of names. A replay of its trace may find names that are
// missing or left over.
#pragma once

#include <string>
#include <vector>

#include "header.hpp"

namespace fsr {

// Entry of a capture that is limited to control groups.
inline constexpr const char* kNamesOfOthers = "names that processes outside the control groups change";
// Entry of a capture without a border around the directory.
inline constexpr const char* kNamesAcross = "names that are moved or linked between the directory and others";
// End of an entry that begins with their number.
inline constexpr const char* kNamesChanged = " changes of names by others";

// Returns what a capture did not see that may have changed names, separated by commas. Empty: nothing. `closing`: null: none.
inline std::string unseen_names(const TraceHeader& header, const TraceClosing* closing) {
  std::string text;
  auto add = [&](const std::vector<std::string>& not_seen) {
    for (const std::string& entry : not_seen)
      if (entry == kNamesOfOthers || entry == kNamesAcross || entry.ends_with(kNamesChanged))
        text += (text.empty() ? "" : ", ") + entry;
  };
  add(header.not_seen);
  if (closing) add(closing->not_seen);
  return text;
}

}  // namespace fsr
