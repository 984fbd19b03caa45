// SPDX-License-Identifier: Apache-2.0
#include "existing_target.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/target.hpp"
#include "util/environment.hpp"

namespace fsr::fsbench {

std::unique_ptr<Target> open_existing(const std::string& location, Clock& clock) {
  struct stat s;
  const bool directory = location.find(':') == std::string::npos;
  if (directory && stat(location.c_str(), &s) != 0) throw std::runtime_error(location + ": " + strerror(errno));
  return open_target(location, {.clock = &clock});
}

std::string way_to(const std::string& target) {
  const bool named = target.starts_with("file:");
  if (!named && target.find(':') != std::string::npos) return "a client of its own, without a page cache";
  return fmt::format("the kernel's client and page cache: {}", mount_text(named ? target.substr(5) : target));
}

}  // namespace fsr::fsbench
