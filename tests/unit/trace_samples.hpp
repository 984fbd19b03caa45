// SPDX-License-Identifier: Apache-2.0
// Operations and files for the tests of the trace format.
#pragma once

#include <string>
#include <vector>

#include "trace/reader.hpp"
#include "trace/writer.hpp"

namespace fsr {

// Returns one or more operations of every kind. Every member is used in one of them.
OpBatch every_kind();
// Returns `count` random operations with random members in use; the same ones for the same seed.
OpBatch random_ops(unsigned seed, size_t count);

TraceHeader sample_header(uint32_t clock_unit);
// Returns a descriptor of a new empty file in memory.
int memory_file();
std::string contents(int fd);
// Returns a descriptor of a new file with this content.
int file_with(std::string_view bytes);

// Returns `op` as a reader must return it: with times in whole clock units.
Op rounded(const Op& op, uint32_t clock_unit);
// Returns all members as text. Two operations are equal if their texts are equal.
std::string describe(const Op& op);

}  // namespace fsr
