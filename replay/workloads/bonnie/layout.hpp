// SPDX-License-Identifier: Apache-2.0
// Prints results as bonnie++ does: as a table and as CSV, of version 2.00a or 1.03. Also prints them as JSON.
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
  std::string seed;     // seed of the random numbers
  unsigned copies = 1;  // number of copies whose results are added up
};

// All return whole lines. A test that did not complete is blank; one of less than half a second is "+++++".
std::string table(const ResultHeader& header);
std::string csv(const ResultHeader& header);
extern const char* const kCsvHeader;  // without the two fields that version 2.00a itself leaves out

std::string table_103(const ResultHeader& header);
std::string csv_103(const ResultHeader& header);

// Includes the rates of short tests.
nlohmann::json json(const ResultHeader& header);

// Returns the rate of a test over all copies: KiB, seeks or files per second. 0: the test did not complete.
double rate(const ResultHeader& header, Phase phase);
const char* unit(Phase phase);

}  // namespace fsr::bonnie
