// SPDX-License-Identifier: Apache-2.0
#include "workloads/steering.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "trace/bytes.hpp"

namespace fsr {

namespace {

constexpr double kUnasked = 0.25;  // weight of errors in requests outside the mix; requests of the mix have weight 1

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.begin() + ptrdiff_t(std::min(a.size(), b.size())), b.begin(), 0.0);
}

}  // namespace

std::vector<double> non_negative_least_squares(const std::vector<std::vector<double>>& columns, std::span<const double> b,
                                               std::vector<double> start) {
  constexpr int kMostSweeps = 10'000;
  constexpr double kSettled = 1e-9;  // largest relative change of an unknown in the last sweep
  const size_t n = columns.size();
  std::vector<double> x = std::move(start), gradient(n);
  x.resize(n);
  for (size_t k = 0; k < n; ++k) {
    gradient[k] = -dot(columns[k], b);
    for (size_t j = 0; j < n; ++j) gradient[k] += x[j] * dot(columns[k], columns[j]);
  }
  double largest = 0, moved = 1;
  for (int sweep = 0; sweep < kMostSweeps && moved > kSettled * largest; ++sweep) {
    moved = 0;
    for (size_t k = 0; k < n; ++k) {
      const double own = dot(columns[k], columns[k]);
      if (own <= 0) continue;
      const double next = std::max(0.0, x[k] - gradient[k] / own), step = next - x[k];
      if (step == 0) continue;
      for (size_t j = 0; j < n; ++j) gradient[j] += step * dot(columns[k], columns[j]);
      x[k] = next;
      moved = std::max(moved, std::abs(step));
      largest = std::max(largest, next);
    }
    if (moved == 0) break;
  }
  return x;
}

Steering::Steering(const MixPlan& plan, const ProcedureCounts& counts) : plan_(plan), rows_(plan, counts) {
  cost_.resize(plan.procedures.size());
  for (const PlannedProcedure& p : plan.procedures)
    if (const size_t at = p.asked > 0 ? row(rows_.of_mix(p.name)) : 0; p.asked > 0) {
      wanted_[at] += p.asked;
      if (p.planned > 0) called_[at] = true;
    }
  for (size_t i = 0; i < cost_.size(); ++i)
    if (plan.procedures[i].planned > 0) cost_[i][row(rows_.of_mix(plan.procedures[i].name))] = 1;
}

size_t Steering::row(const std::string& name) {
  const auto at = size_t(std::find(names_.begin(), names_.end(), name) - names_.begin());
  if (at == names_.size()) {
    names_.push_back(name);
    wanted_.push_back(0);
    called_.push_back(false);
    for (auto& column : cost_) column.push_back(0);
  }
  return at;
}

void Steering::learn(size_t number, double calls, const ProcedureCounts& sent) {
  std::fill(cost_[number].begin(), cost_[number].end(), 0);
  for (const auto& [name, count] : sent)
    if (const std::string counts_as = rows_.of_request(name); count && !counts_as.empty())
      cost_[number][row(counts_as)] += double(count) / calls;
}

std::vector<double> Steering::by_row(const ProcedureCounts& sent) const {
  std::vector<double> sum(names_.size());
  for (const auto& [name, count] : sent) {
    const auto at = size_t(std::find(names_.begin(), names_.end(), rows_.of_request(name)) - names_.begin());
    if (at < names_.size()) sum[at] += double(count);
  }
  return sum;
}

std::vector<double> Steering::shares(std::span<const double> made, const ProcedureCounts& sent, double left) const {
  auto solve = [&](std::span<const double> b) {
    std::vector<std::vector<double>> columns = cost_;
    std::vector<double> aim(b.begin(), b.end()), start;
    for (size_t r = 0; r < aim.size(); ++r) {
      const double weight = wanted_[r] > 0 ? 1 : kUnasked;
      aim[r] *= weight;
      for (auto& column : columns) column[r] *= weight;
    }
    // If one procedure can replace another on the wire, both are called as the mix requests.
    const double all = std::accumulate(b.begin(), b.end(), 0.0);
    for (const PlannedProcedure& p : plan_.procedures) start.push_back(p.planned * std::max(0.0, all));
    std::vector<double> x = non_negative_least_squares(columns, aim, std::move(start));
    for (size_t i = 0; i < x.size(); ++i)  // its calls send nothing
      if (dot(columns[i], columns[i]) <= 0) x[i] = 0;
    const double sum = std::accumulate(x.begin(), x.end(), 0.0);
    for (double& share : x) share = sum > 0 ? share / sum : plan_.procedures[size_t(&share - x.data())].planned;
    return x;
  };
  const std::vector<double> at_first = solve(wanted_);
  const double calls = std::accumulate(made.begin(), made.end(), 0.0);
  if (calls <= 0) return at_first;
  // Requests that are still to be sent, minus those that go out in addition to the calls, at their present rate.
  const std::vector<double> got = by_row(sent);
  const double all = std::accumulate(got.begin(), got.end(), 0.0) + left * requests_per_call(at_first);
  std::vector<double> b(names_.size());
  for (size_t r = 0; r < b.size(); ++r) {
    double expected = 0;
    for (size_t i = 0; i < cost_.size(); ++i) expected += made[i] * cost_[i][r];
    b[r] = wanted_[r] * all - got[r] - (got[r] - expected) * left / calls;
  }
  return solve(b);
}

double Steering::requests_per_call(std::span<const double> shares) const {
  double sum = 0;
  for (size_t i = 0; i < cost_.size(); ++i) sum += shares[i] * std::accumulate(cost_[i].begin(), cost_[i].end(), 0.0);
  return sum;
}

std::string Steering::save_costs() const {
  ByteWriter out;
  for (size_t r = 0; r < names_.size(); ++r) {
    out.text(names_[r]);
    for (const auto& column : cost_) out.varint(std::bit_cast<uint64_t>(column[r]));
  }
  return std::string(out.view());
}

void Steering::load_costs(std::string_view saved) {
  ByteReader in(saved);
  for (auto& column : cost_) std::fill(column.begin(), column.end(), 0);
  while (in.ok() && in.left() > 0) {
    const size_t at = row(std::string(in.text()));
    for (auto& column : cost_) column[at] = std::bit_cast<double>(in.varint());
  }
  if (!in.ok()) throw std::runtime_error("damaged costs from another rank");
}

std::vector<std::string> Steering::impossible() const {
  constexpr double kSeldom = 0.1;  // requests per call
  std::vector<std::string> out;
  for (size_t r = 0; r < names_.size(); ++r)
    if (wanted_[r] > 0 && called_[r] &&
        std::none_of(cost_.begin(), cost_.end(), [&](const auto& column) { return column[r] > kSeldom; }))
      out.push_back(names_[r]);
  return out;
}

}  // namespace fsr
