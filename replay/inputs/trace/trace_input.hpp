// SPDX-License-Identifier: Apache-2.0
// Runs a captured trace: its initial image, and its operations at the recorded times.
#pragma once

#include "inputs/input_kind.hpp"
#include "inputs/input_options.hpp"

namespace fsr {

std::unique_ptr<InputKind> trace_kind(InputOptions& options);

// Opens a trace that is no file of the user. Takes over `fd`; `name` is for messages. Throws std::runtime_error, one line.
std::unique_ptr<Input> trace_input(int fd, const std::string& name, const TraceOptions& options);

// Returns the meaning of a value of --clients-by: "stream", "process" or "user".
ClientsBy clients_by_of(const std::string& name);

}  // namespace fsr
