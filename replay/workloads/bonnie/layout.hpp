// SPDX-License-Identifier: Apache-2.0
// Results as bonnie++ prints them: its table and its CSV, of version 2.00a or of 1.03, and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "workloads/bonnie/phases.hpp"
#include "workloads/bonnie/settings.hpp"

namespace fsr::bonnie {

struct ResultHeader {
  const Settings& settings;
  const Results& results;
  std::string machine;
  std::string seed;     // of the random numbers
  unsigned copies = 1;  // copies whose results are added up
};

// Whole lines. Tests that were not run to their end are blank; what took less than half a second is "+++++".
std::string table(const ResultHeader& header);
std::string csv(const ResultHeader& header);
extern const char* const kCsvHeader;  // without the two fields that version 2.00a leaves out of its own

std::string table_103(const ResultHeader& header);
std::string csv_103(const ResultHeader& header);

// All numbers, also of short tests.
nlohmann::json json(const ResultHeader& header);

// Rate of a test of all copies: KiB, seeks or files per second. 0: the test was not completed.
double rate(const ResultHeader& header, Phase phase);
const char* unit(Phase phase);

}  // namespace fsr::bonnie
