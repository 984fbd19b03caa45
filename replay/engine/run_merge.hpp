// SPDX-License-Identifier: Apache-2.0
// What several processes measured at the same time, as one result.
#pragma once

#include "engine/run.hpp"

namespace fsr {

class ByteReader;
class ByteWriter;

// For another process of the same program. load_result() fails the reader for bytes that save_result() did not write.
void save_result(ByteWriter& out, const RunResult& result);
RunResult load_result(ByteReader& in);
// Adds what another part of the same load came to. Of mismatches, `options.mismatches` are kept.
void merge_result(RunResult& into, const RunResult& part, const RunOptions& options);

}  // namespace fsr
