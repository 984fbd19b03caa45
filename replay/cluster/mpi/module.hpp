// SPDX-License-Identifier: Apache-2.0
// The interface of the modules that use MPI.
#pragma once

#include <string>

#include "cluster/transport.hpp"

namespace fsr {

// Starts MPI for a program of the given version; called once. The caller deletes the transport, which ends MPI. Null: failed, for
// the reason in `why`.
using OpenTransport = Transport*(const char* version, std::string* why);
constexpr const char* kOpenTransport = "fsr_open_transport";
extern "C" __attribute__((visibility("default"))) OpenTransport fsr_open_transport;

}  // namespace fsr
