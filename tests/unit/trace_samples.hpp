// SPDX-License-Identifier: Apache-2.0
// Operations and files for the tests of the trace format.
#pragma once

#include <string>
#include <vector>

#include "trace/reader.hpp"
#include "trace/writer.hpp"

namespace fsr {

// One or more operations of every kind, with every member used somewhere.
OpBatch every_kind();
// `count` random operations with random members in use; the same for the same seed.
OpBatch random_ops(unsigned seed, size_t count);

TraceHeader sample_header(uint32_t clock_unit);
// A new empty file in memory.
int memory_file();
std::string contents(int fd);
// A duplicate descriptor's worth of a file with that content.
int file_with(std::string_view bytes);

// What a reader must give back for `op`: times in whole clock units.
Op rounded(const Op& op, uint32_t clock_unit);
// Every member, as text: two operations are equal when these are.
std::string describe(const Op& op);

}  // namespace fsr
