// SPDX-License-Identifier: Apache-2.0
// Counts events besides the timed operations: files made and opened, and reasons why a thread could not go on at once. Codes and
// words are those of vdbench 5.04.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace fsr::vdbench {

enum Event : uint8_t {
  kFileCreates,
  kDirectoryCreates,
  kFileDeletes,
  kDirectoryDeletes,
  kReadOpens,
  kWriteOpens,
  kDirBusyRmdir,
  kDirBusyMkdir,
  kDirDoesNotExist,
  kDirExists,
  kDirStillHasChild,
  kDirStillHasFiles,
  kFileBusy,
  kFileMayNotExist,
  kFileMustExist,
  kFileNotFull,
  kGetAttr,
  kSetAttr,
  kAccess,
  kMissingParent,
  kParentDirBusy,
  kFileCloses,
  kFilesCopied,
  kFileIsFull,
  kEvents
};

struct EventName {
  const char *code, *words;
};
extern const EventName kEventNames[kEvents];

using Events = std::array<uint64_t, kEvents>;

// Returns the lines of "Miscellaneous statistics:". Rates are per second, with whole `seconds`.
std::string events_text(const Events& events, double seconds);

}  // namespace fsr::vdbench
