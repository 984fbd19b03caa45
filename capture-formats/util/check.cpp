// SPDX-License-Identifier: Apache-2.0
#include "util/check.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "util/debug_log.hpp"

namespace fsr {

void check_failed(const char* file, int line, const char* condition, const std::string& text) {
  flush_log();
  std::string message = fmt::format("{}:{}: this must hold and does not: {} ({})\n", file, line, condition, text);
  const std::string last = last_log_lines();
  if (!last.empty()) message += "The last debug lines:\n" + last;
  message += "This is a defect of fsshim and fsreplay. Please report it with these lines.\n";
  if (write(STDERR_FILENO, message.data(), message.size()) < 0) abort();
  abort();
}

}  // namespace fsr
