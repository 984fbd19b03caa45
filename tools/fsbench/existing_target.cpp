// SPDX-License-Identifier: Apache-2.0
#include "existing_target.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/target.hpp"

namespace fsr::fsbench {

std::unique_ptr<Target> open_existing(const std::string& location, Clock& clock) {
  struct stat s;
  const bool directory = location.find(':') == std::string::npos;
  if (directory && stat(location.c_str(), &s) != 0) throw std::runtime_error(location + ": " + strerror(errno));
  return open_target(location, {.clock = &clock});
}

}  // namespace fsr::fsbench
