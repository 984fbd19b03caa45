// SPDX-License-Identifier: Apache-2.0
// The sections of a file and the lines of each section; names that one definition stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/vdbench/language/settings.hpp"
#include "workloads/vdbench/language/source_text.hpp"

namespace fsr::vdbench {

// In the order that a file must have.
enum class Section : uint8_t { general, hosts, storages, workloads, runs };
Section section_of(const Parameter& first);  // section of the statement that begins with `first`

// A line that begins no section continues the line above, as if it followed a comma. So each parameter may be on a line of its
// own. This also holds for a line with only sd=, fsd=, wd= or fwd=, if the definition above has none yet.
std::vector<Statement> join_lines(const std::vector<Statement>& lines);

// Returns the numbers for names that count=(first,how many) defines. Empty: there is no count=. Throws ParameterError.
std::vector<uint64_t> counted_numbers(const Statement& statement);
// Returns name number `n` of a mask: "sd%04d", "sd*", or "sd" followed by a number.
std::string numbered(const std::string& mask, uint64_t n);

// A run of the words single, range and setsofN in sd= of an RD. They mean a run on each SD, on more and more SDs, or on sets of
// SDs.
struct StorageSet {
  std::string suffix;  // of the RD's name: "_sd1_sd2"
  std::vector<size_t> storages;
};

// Returns the sets, each for a run of its own. None: the parameter names SDs. setsofN takes the SDs in the order of 5.04, which
// is random, but always the same. Throws ParameterError for N that is not a number.
std::optional<std::vector<StorageSet>> storage_sets(const Parameter& sd, const std::vector<std::string>& names);

}  // namespace fsr::vdbench
