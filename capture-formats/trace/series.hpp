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

// The files that a name on the command line stands for: an existing file itself; a pattern with *, ? or [ what it matches; else
// the pieces of a series of that name, as it was given to fsshim's -o. Without any, the name itself: to open it says why.
std::vector<std::string> series_files(const std::string& name);

// The layouts of all files as one; `files` is put in order of pieces. Missing pieces are damage, with their numbers. Throws
// std::runtime_error where the files are not pieces of one series; one file alone may be any trace.
TraceLayout find_series_layout(InputFiles& files);

// "NAME: " where there are several files to tell apart.
std::string file_prefix(const InputFiles& files, size_t file);

}  // namespace fsr
