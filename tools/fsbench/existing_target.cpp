// SPDX-License-Identifier: Apache-2.0
#include "existing_target.hpp"

#include <fmt/format.h>

#include "base/target.hpp"
#include "targets/file/file_target.hpp"
#include "util/environment.hpp"

namespace fsr::fsbench {

std::unique_ptr<Target> open_existing(const std::string& location, Clock& clock) {
  require_directory(location);
  return open_target(location, {.clock = &clock});
}

std::string by_path(const std::string& location, bool relative) {
  const bool named = location.starts_with("file:");
  if (location.find('?') != std::string::npos || (!named && location.find(':') != std::string::npos)) return location;
  return fmt::format("{}{}?by-path={}", named ? "" : "file:", location, relative ? "relative" : "1");
}

std::string way_to(const std::string& target) {
  const bool named = target.starts_with("file:");
  if (!named && target.find(':') != std::string::npos) return "fsbench's own client, without a page cache";
  return fmt::format("the kernel's client and page cache: {}", mount_text(named ? target.substr(5) : target));
}

}  // namespace fsr::fsbench
