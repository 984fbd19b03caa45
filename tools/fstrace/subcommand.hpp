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

namespace CLI {
class App;
}

namespace fsr::fstrace {

using Run = std::function<int()>;

Run add_info(CLI::App& app);
Run add_dump(CLI::App& app);
Run add_mix(CLI::App& app);
Run add_stat(CLI::App& app);
Run add_sql(CLI::App& app);
Run add_anonymize(CLI::App& app);
Run add_compare(CLI::App& app);
Run add_report(CLI::App& app);
Run add_cut(CLI::App& app);
Run add_filter(CLI::App& app);
Run add_merge(CLI::App& app);
Run add_convert(CLI::App& app);
Run add_import(CLI::App& app);
Run add_export(CLI::App& app);
Run add_verify(CLI::App& app);

// Declares the argument FILE...
void add_files(CLI::App& app, std::vector<std::string>& files);
// FILE... as given: one trace, or (the pieces of) a series. "-" and pipes are copied to a temporary file first. Throws
// std::exception, one line.
std::unique_ptr<TraceReader> open_trace(const std::vector<std::string>& files);
inline std::unique_ptr<TraceReader> open_trace(const std::string& file) { return open_trace(std::vector{file}); }

}  // namespace fsr::fstrace
