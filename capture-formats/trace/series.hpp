// SPDX-License-Identifier: Apache-2.0
// A capture that was written piece by piece: NAME.0001.zst, NAME.0002.zst, ... Each piece is a whole trace; together they are
// one.
//
// Pieces carry the same id and their number in the header; times and operation numbers go on from one to the next. No state; free
// of threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "input_file.hpp"
#include "layout.hpp"

namespace fsr {

using InputFiles = std::vector<std::unique_ptr<InputFile>>;

// "dir/web.zst", 3 -> "dir/web.0003.zst". Numbers above 9999 take more digits.
std::string piece_name(const std::string& series, unsigned piece);

// Returns the files that a name on the command line stands for: the file of this name; or the matches of a pattern with *, ? or
// [; or the pieces of the series that fsshim wrote with -o NAME. If there are none, the name itself, so that opening it reports
// why.
std::vector<std::string> series_files(const std::string& name);
bool names_series(const std::string& name);  // true if `name` is not a file's, "-" or a pattern

// Returns the layouts of all files as one, and sorts `files` by piece. Missing pieces are damage, with their numbers. `series`:
// the files were found by the name of a series, so that the newest piece must be there, too. Throws std::runtime_error if several
// files are not pieces of one series. One file alone may be any trace.
TraceLayout find_series_layout(InputFiles& files, bool series = false);

// Returns "NAME: " if there are several files; otherwise nothing.
std::string file_prefix(const InputFiles& files, size_t file);

}  // namespace fsr
