// SPDX-License-Identifier: Apache-2.0
// The keywords of each section. What refers to other definitions is resolved by those who know them.
#pragma once

#include <span>

#include "workloads/vdbench/language/keyword.hpp"
#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

std::span<const Keyword<General>> general_keywords();
std::span<const Keyword<Storage>> storage_keywords();
std::span<const Keyword<Workload>> workload_keywords();
std::span<const Keyword<FileSystem>> file_system_keywords();
std::span<const Keyword<FileWorkload>> file_workload_keywords();
std::span<const Keyword<Run>> run_keywords();
// iorate= or fwdrate=, if it is there. What it says depends on distribution=, which may follow it: after all others.
void set_rate(Run& run, const Parameter* rate);
void place_rates(Run& run, const Parameter& p);  // fwdrate=: where it stands among the loops, until set_rate()

}  // namespace fsr::vdbench
