// SPDX-License-Identifier: Apache-2.0
// Writes runs of vdbench's parameter files to a results database. One thread.
#pragma once

#include <memory>
#include <string>

#include "report/facts.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr {

// Opens the database, so that an error is found before the runs. `input`: the parameter files. This and all members throw
// std::runtime_error "FILE: why".
std::unique_ptr<vdbench::RunPage> vdbench_database(const std::string& file, Facts origin, std::string input);

}  // namespace fsr
