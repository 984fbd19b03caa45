// SPDX-License-Identifier: Apache-2.0
// The subcommands of fstrace: one source file each, one line each in the table of main.cpp.
//
// add_*() declares the subcommand's options and returns what runs it: called once, after the command line was understood, its
// value is the exit status. Failures to start are std::exception with one line.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trace/reader.hpp"
#include "util/command.hpp"

namespace fsr::fstrace {

using Run = std::function<int()>;

Run add_info(Command& command);
Run add_dump(Command& command);
Run add_mix(Command& command);
Run add_model(Command& command);
Run add_stat(Command& command);
Run add_top(Command& command);
Run add_sql(Command& command);
Run add_anonymize(Command& command);
Run add_compare(Command& command);
Run add_report(Command& command);
Run add_doctor(Command& command);
Run add_cut(Command& command);
Run add_filter(Command& command);
Run add_merge(Command& command);
Run add_convert(Command& command);
Run add_import(Command& command);
Run add_export(Command& command);
Run add_verify(Command& command);

// Declares the argument FILE...
void add_files(Command& command, std::vector<std::string>& files);
// FILE... as given: one trace, or (the pieces of) a series. "-" and pipes are copied to a temporary file first. Throws
// std::exception, one line.
std::unique_ptr<TraceReader> open_trace(const std::vector<std::string>& files);
inline std::unique_ptr<TraceReader> open_trace(const std::string& file) { return open_trace(std::vector{file}); }

}  // namespace fsr::fstrace
