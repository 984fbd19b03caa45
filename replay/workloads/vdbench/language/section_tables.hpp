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

// Of a host definition only what it is checked for stays: all load comes from this process.
struct Host {
  std::string name;
};
std::span<const Keyword<Host>> host_keywords();

}  // namespace fsr::vdbench
