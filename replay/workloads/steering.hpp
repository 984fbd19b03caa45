// SPDX-License-Identifier: Apache-2.0
// Chooses the shares of a mix's procedures among the calls, so that the requests on the wire have the shares of the mix.
//
// Behind a client's cache, a call costs more than its own request. A create looks the name up first; reading a symlink again
// first requests its attributes. learn() takes the measured cost of a procedure's calls. The shares follow by least squares
// without negative unknowns. Plain arithmetic, not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/mix_plan.hpp"
#include "workloads/wire_rows.hpp"

namespace fsr {

class Steering {
 public:
  // Until learn() is called, a call costs one request of its own name. `plan` must outlive this. `counts`: as for WireRows.
  Steering(const MixPlan& plan, const ProcedureCounts& counts);

  // Takes the requests that `calls` calls of plan.procedures[number] have sent.
  void learn(size_t number, double calls, const ProcedureCounts& sent);
  // Returns the shares of the remaining calls, one for each procedure of the plan, sum 1. `made`: number of calls of each so far.
  // `sent`: all requests of these calls. `left`: number of remaining calls.
  std::vector<double> shares(std::span<const double> made, const ProcedureCounts& sent, double left) const;
  // Returns the average number of requests of a call with these shares.
  double requests_per_call(std::span<const double> shares) const;
  // Returns the procedures of the mix that calls are made for, and that no call sends.
  std::vector<std::string> impossible() const;

  // Serialize the learned costs for another process with the same plan. load_costs() throws std::runtime_error if save_costs()
  // did not make the bytes.
  std::string save_costs() const;
  void load_costs(std::string_view saved);

 private:
  size_t row(const std::string& name);
  std::vector<double> by_row(const ProcedureCounts& sent) const;

  const MixPlan& plan_;
  WireRows rows_;
  std::vector<std::string> names_;         // name of each row
  std::vector<double> wanted_;             // requested share of each row, sum 1
  std::vector<bool> called_;               // by row: calls are made for it
  std::vector<std::vector<double>> cost_;  // requests of a call, by procedure and row
};

// Returns the x without negative elements that minimises |Ax - b|. Uses sequential coordinate descent (V. Franc, V. Hlavac, M.
// Navara, "Sequential coordinate-wise algorithm for the non-negative least squares problem", CAIP 2005). `columns`: those of A,
// each as long as `b`. `start`: of several solutions, one near it is found. Empty: zeros.
std::vector<double> non_negative_least_squares(const std::vector<std::vector<double>>& columns, std::span<const double> b,
                                               std::vector<double> start = {});

}  // namespace fsr
