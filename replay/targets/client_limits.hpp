// SPDX-License-Identifier: Apache-2.0
// Limits that a target with many clients or open files may reach. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace fsr {

constexpr uint32_t kMostClients = 1'000'000;  // of a target

// Raises the limit of open files as far as permitted.
void raise_descriptor_limit();
// Raises the limit of open files to what `clients` connections and the rest of a run need. Throws std::runtime_error, one line,
// if that is not permitted.
void allow_clients(uint64_t clients);
// Says in one line that only `connected` of `wanted` clients could be set up, because of `error`, an errno.
std::string clients_problem(uint32_t connected, uint32_t wanted, int error);

}  // namespace fsr
