// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error, as a program's main() has to see to them.
#pragma once

#include <string_view>

namespace fsr {

// A file that took the number of a closed stream would get the messages, or be read as input. First thing in main(). A closed
// one stays as unusable as it was, for a program executed later too.
void occupy_standard_streams();

// A file that may grow no further (RLIMIT_FSIZE) fails with EFBIG from now on, which is reported, instead of ending the program.
void survive_size_limits();

// Prints a complete report, even if handled signals arrive meanwhile. status_of_output() reports failures.
void print_whole(std::string_view text);

// The exit status: `status`, but 1 with a line on stderr where standard output could not take all that was printed.
int status_of_output(const char* program, int status);

}  // namespace fsr
