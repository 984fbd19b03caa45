// SPDX-License-Identifier: Apache-2.0
// Chooses how often to issue each procedure of a mix, so that the mix asked for is what goes over the wire.
//
// Behind a client's caches a call costs more than itself. A create asks for the name first; reading a link anew asks for its
// attributes. The function learn() takes the measured cost of a procedure's calls. The mix is solved for by least squares
// without negative unknowns. Plain arithmetic, not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/mix_plan.hpp"
#include "workloads/wire_rows.hpp"

namespace fsr {

class Steering {
 public:
  // Until more is learned, a call costs one request of its own name. `plan` must outlive it. `counts`: as for WireRows.
  Steering(const MixPlan& plan, const ProcedureCounts& counts);

  // `calls` calls of plan.procedures[number] sent that.
  void learn(size_t number, double calls, const ProcedureCounts& sent);
  // Shares of the calls that are left, one for each procedure of the plan, sum 1. `made`: how often each was called until now,
  // `sent`: all requests of these.
  std::vector<double> shares(std::span<const double> made, const ProcedureCounts& sent, double left) const;
  // Requests of a call, on average over these shares.
  double requests_per_call(std::span<const double> shares) const;
  // Names of procedures that the mix asks for and no call sends.
  std::vector<std::string> impossible() const;

 private:
  size_t row(const std::string& name);
  std::vector<double> by_row(const ProcedureCounts& sent) const;

  const MixPlan& plan_;
  WireRows rows_;
  std::vector<std::string> names_;         // of rows
  std::vector<double> wanted_;             // by row, sum 1
  std::vector<std::vector<double>> cost_;  // by procedure, then row
};

// The x that minimises |Ax - b| with no x negative, by sequential coordinate descent (V. Franc, V. Hlavac, M. Navara, "Sequential
// coordinate-wise algorithm for the non-negative least squares problem", CAIP 2005). `columns` of A are as long as `b`.
// `start`: of several solutions one near it is found. Empty: zeros.
std::vector<double> non_negative_least_squares(const std::vector<std::vector<double>>& columns, std::span<const double> b,
                                               std::vector<double> start = {});

}  // namespace fsr
