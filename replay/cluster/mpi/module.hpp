// SPDX-License-Identifier: Apache-2.0
// What a module that speaks MPI exports.
#pragma once

#include <string>

#include "cluster/transport.hpp"

namespace fsr {

// Called once, for a program of that version. Null: `why` says so. The caller deletes what it returns, which takes leave of MPI.
using OpenTransport = Transport*(const char* version, std::string* why);
constexpr const char* kOpenTransport = "fsr_open_transport";
extern "C" __attribute__((visibility("default"))) OpenTransport fsr_open_transport;

}  // namespace fsr
