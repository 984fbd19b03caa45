// SPDX-License-Identifier: Apache-2.0
// Gets a password from a file, the environment or a prompt on the terminal. Never from the command line.
#pragma once

#include <string>

namespace fsr::afp {

// Returns the first line of `file` if that is not null, else the value of AFP_PASSWORD, else a line from the terminal. The
// terminal does not show what the user types. Throws std::runtime_error with one line, which does not contain the password.
std::string get_password(const std::string& who, const std::string* file);

}  // namespace fsr::afp
