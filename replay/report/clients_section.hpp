// SPDX-License-Identifier: Apache-2.0
// Part of a report about the clients of a target that has several. It says how long they took to set up, which were lost, and
// whether the server served them alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/client_figures.hpp"
#include "base/restart_figures.hpp"
#include "report/section.hpp"

namespace fsr {

class ClientsSection final : public ReportSection {
 public:
  // `duration`: ns of the run, for rates. `numbers`: of the clients; empty: from 0 on.
  ClientsSection(std::vector<ClientFigures> clients, int64_t duration, const RestartFigures& restart = {},
                 std::vector<uint32_t> numbers = {});

  std::string text() const override;
  void facts(Facts&) const override {}
  void json(nlohmann::json& document) const override;
  void database(ResultsDatabase& db) const override;

  const std::vector<ClientFigures>& clients() const { return clients_; }
  const RestartFigures& restart() const { return restart_; }

 private:
  struct Quantiles {
    double p1 = 0, p50 = 0, p99 = 0, p100 = 0;
  };
  static Quantiles quantiles(std::vector<double> values);
  double rate(const ClientFigures& client) const;  // operations a second

  uint32_t number(uint32_t k) const { return numbers_.empty() ? k : numbers_[k]; }

  const std::vector<ClientFigures> clients_;
  const RestartFigures restart_;
  const std::vector<uint32_t> numbers_;
  const int64_t duration_;
  uint64_t used_ = 0;  // clients that performed operations
  uint64_t down_ = 0, reconnects_ = 0, lost_leases_ = 0, failed_ = 0;
  Quantiles set_up_, rates_, p99_;  // ns; of clients with operations: operations a second, ns
  double fairness_ = 1;             // Jain's index of the rates: 1: all alike; 1/n: one of n clients has everything
  std::vector<uint32_t> slowest_;   // indices of the clients with the highest p99, at most ten
};

}  // namespace fsr
