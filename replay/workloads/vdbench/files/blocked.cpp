// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/files/blocked.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "util/units.hpp"

namespace fsr::vdbench {

const EventName kEventNames[kEvents] = {
    {"FILE_CREATES", "Files created"},
    {"DIRECTORY_CREATES", "Directories created"},
    {"FILE_DELETES", "Files deleted"},
    {"DIRECTORY_DELETES", "Directories deleted"},
    {"READ_OPENS", "Files opened for read activity"},
    {"WRITE_OPENS", "Files opened for write activity"},
    {"DIR_BUSY_RMDIR", "Directory busy (rmdir)"},
    {"DIR_BUSY_MKDIR", "Directory busy (mkdir)"},
    {"DIR_DOES_NOT_EXIST", "Directory does not exist (yet)"},
    {"DIR_EXISTS", "Directory may not exist (yet)"},
    {"DIR_STILL_HAS_CHILD", "Directory still has child directory"},
    {"DIR_STILL_HAS_FILES", "Directory still has files"},
    {"FILE_BUSY", "File busy"},
    {"FILE_MAY_NOT_EXIST", "File may not exist (yet)"},
    {"FILE_MUST_EXIST", "File does not exist (yet)"},
    {"FILE_NOT_FULL", "File has not been completely written"},
    {"GET_ATTR", "Getattr requests"},
    {"SET_ATTR", "Setattr requests"},
    {"ACCESS", "Access to file checked"},
    {"MISSING_PARENT", "Parent directory does not exist (yet)"},
    {"PARENT_DIR_BUSY", "Parent directory busy, waiting"},
    {"FILE_CLOSES", "Close requests"},
    {"FILES_COPIED", "Files copied"},
    {"FILE_IS_FULL", "File is full"},
};

std::string events_text(const Events& events, double seconds) {
  std::string text;
  for (size_t i = 0; i < kEvents; ++i)
    if (events[i])
      text += fmt::format("{:<20}{:<40}{:>11} {:>10}/sec\n", kEventNames[i].code, std::string(kEventNames[i].words) + ":",
                          format_count(events[i]), format_count(uint64_t(double(events[i]) / std::max(seconds, 1.0))));
  return text;
}

}  // namespace fsr::vdbench
