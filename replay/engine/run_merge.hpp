// SPDX-License-Identifier: Apache-2.0
// Merges results that several workers or processes measured at the same time, by the rows of engine/figures.hpp.
#pragma once

#include "engine/run.hpp"

namespace fsr {

class ByteReader;
class ByteWriter;
class Tally;

// Save and load a result for another process of the same program. load_result() fails the reader for bytes that save_result() did
// not write.
void save_result(ByteWriter& out, const RunResult& result);
RunResult load_result(ByteReader& in);
// Adds counts whose rows are kinds of operations.
void add_counts(RunResult& into, const Tally& counts);
// Adds the result of another part of the same load.
void add_result(RunResult& into, const RunResult& part);
// Does the same, keeps the first `options.mismatches` mismatches, and finds the limit again.
void merge_result(RunResult& into, const RunResult& part, const RunOptions& options);

}  // namespace fsr
