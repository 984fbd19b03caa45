// SPDX-License-Identifier: Apache-2.0
// The keywords of each section. References to other definitions are resolved later, by code that knows these definitions.
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
// Sets iorate= or fwdrate=, if it is present. Call this after all other keywords, because its meaning depends on distribution=,
// which may follow it.
void set_rate(Run& run, const Parameter* rate);
void place_rates(Run& run, const Parameter& p);  // remembers the position of fwdrate= among the loops, for set_rate()

}  // namespace fsr::vdbench
