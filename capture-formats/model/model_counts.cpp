// SPDX-License-Identifier: Apache-2.0
// Text on what a model could not make up.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "model/model_source.hpp"
#include "util/units.hpp"

namespace fsr {

std::vector<int64_t> stalls_of(const LoadModel& model) {
  constexpr double kMost = 0.95;  // of the run, whatever a file says
  constexpr double kMostStalls = 1e6;
  std::vector<int64_t> lengths(model.runs ? size_t(std::min(kMostStalls, double(model.stalls.count) / model.runs + 0.5)) : 0);
  double sum = 0;
  for (size_t i = 0; i < lengths.size(); ++i)
    sum += double(lengths[i] = int64_t(model.stalls.times.between((double(i) + 0.5) / double(lengths.size()))));
  if (const double most = kMost * double(model.span); sum > most)
    for (int64_t& length : lengths) length = int64_t(double(length) * most / sum);
  return lengths;
}

std::string left_out_text(const ModelCounts& counts) {
  constexpr size_t kMost = 4;
  std::vector<std::pair<uint64_t, std::string>> rows;
  for (const auto& [symbol, n] : counts.left_out_symbols) {
    const auto& [kind, error] = symbol;
    const char* name = error ? strerrorname_np(error) : nullptr;
    rows.emplace_back(n, fmt::format("{}{} {}", op_name(kind), name ? fmt::format(" {}", name) : "", format_count(n)));
  }
  std::sort(rows.rbegin(), rows.rend());
  std::string text;
  for (size_t i = 0; i < std::min(kMost, rows.size()); ++i) text += (i ? ", " : "") + rows[i].second;
  return rows.size() > kMost ? text + " …" : text;
}

}  // namespace fsr
