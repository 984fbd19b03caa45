// SPDX-License-Identifier: Apache-2.0
// Where a password comes from: a file that the caller names, the environment, a prompt on the terminal. Never the command line.
#pragma once

#include <string>

namespace fsr::afp {

// The first of: the first line of `file` if one is named, AFP_PASSWORD, what is typed at the terminal without being shown. Throws
// std::runtime_error, one line without the password in it.
std::string get_password(const std::string& who, const std::string* file);

}  // namespace fsr::afp
