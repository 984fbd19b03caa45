// SPDX-License-Identifier: Apache-2.0
// Options of the command line for all kinds of input. Each kind declares its own; a model reads some of the other kinds. Plain
// data.
#pragma once

#include "inputs/live/live_options.hpp"
#include "inputs/mix/mix_options.hpp"
#include "inputs/trace/trace_options.hpp"

namespace fsr {

enum class ScaleBy : uint8_t { processes, think };

struct InputOptions {
  LiveOptions live;
  TraceOptions trace;
  MixOptions mix;
  ScaleBy scale_by = ScaleBy::processes;  // what --scale multiplies or divides in a model
};

}  // namespace fsr
