// SPDX-License-Identifier: Apache-2.0
// The subcommands of fstrace: one source file each, one line each in the table of main.cpp.
//
// add_*() declares the subcommand's options and returns what runs it: called once, after the command line was understood, its
// value is the exit status. Failures to start are std::exception with one line.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "trace/reader.hpp"

namespace CLI {
class App;
}

namespace fsr::fstrace {

using Run = std::function<int()>;

Run add_info(CLI::App& app);
Run add_dump(CLI::App& app);
Run add_verify(CLI::App& app);

// FILE as given; "-" and pipes are copied to a temporary file first. Throws std::exception, one line.
std::unique_ptr<TraceReader> open_trace(const std::string& file);

}  // namespace fsr::fstrace
