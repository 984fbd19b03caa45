// SPDX-License-Identifier: Apache-2.0
// Prints the results of NFSTEST on the root: the original's lines, or JSON.
#pragma once

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "kept_results.hpp"
#include "workloads/nfstest/layout.hpp"
#include "workloads/nfstest/nfstest.hpp"

namespace fsr::fsbench {

struct NfstestOutput {
  bool compat = false;  // print times with one decimal
  bool json = false;
  bool sync = false;    // files are synced; printed in JSON only
  std::string results;  // results database; empty: none
};

class NfstestPrinter {
 public:
  // All must outlive this. Throws std::runtime_error if the output file of the settings can't be written.
  NfstestPrinter(const nfstest::Settings& settings, const Cluster& cluster, const NfstestOutput& options);
  ~NfstestPrinter();
  NfstestPrinter(const NfstestPrinter&) = delete;
  NfstestPrinter& operator=(const NfstestPrinter&) = delete;

  // `skipped`: sizes that the limit of space excludes, units.
  void begin(const std::vector<uint64_t>& skipped);
  void starting(uint64_t iteration, uint64_t size);
  void ended(const nfstest::StageResult& result);
  int end(const nfstest::Ending& ending);  // returns the exit status

 private:
  struct Best {
    uint64_t size = 0;
    double rate = 0;
  };

  void print(const std::string& text);
  void keep(const nfstest::Ending& ending, int status);
  void report_wrong(const nfstest::StageResult& result);
  void report_cached(const nfstest::StageResult& result);
  nlohmann::json json_of(const nfstest::StageResult& result) const;
  nlohmann::json json_of(const nfstest::Ending& ending) const;

  const nfstest::Settings& settings_;
  const Cluster& cluster_;
  const NfstestOutput options_;
  const nfstest::Layout layout_;
  FILE* file_ = nullptr;
  std::vector<uint64_t> skipped_;
  Best best_[2];  // index 0: reading, 1: writing
  uint64_t wrong_ = 0, shown_ = 0;
  unsigned cached_ = 0;  // stages of reading that the client's cache served
  nlohmann::json stages_ = nlohmann::json::array();
  KeptResults kept_;
  std::vector<std::vector<RunRow>> measured_;  // by iteration
};

}  // namespace fsr::fsbench
