// SPDX-License-Identifier: Apache-2.0
// Shares as the parameter files of load generators have them: whole percents that add up to 100.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace fsr::fstrace {

// `counts`: kinds and their numbers, not all of them 0. Returns their shares, the largest first; shares that round to 0 are left
// out.
template <class What>
std::vector<std::pair<What, unsigned>> whole_percents(const std::vector<std::pair<What, uint64_t>>& counts) {
  struct Share {
    What what;
    unsigned percent;
    double rest;
  };
  uint64_t whole = 0;
  for (const auto& [what, n] : counts) whole += n;
  std::vector<Share> shares;
  unsigned given = 0;
  for (const auto& [what, n] : counts) {
    const double exact = 100.0 * double(n) / double(whole);
    shares.push_back({what, unsigned(exact), exact - std::floor(exact)});
    given += unsigned(exact);
  }
  // The remaining percents go to the shares that lost most by rounding.
  std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.rest > b.rest; });
  for (size_t i = 0; given < 100; ++i, ++given) ++shares[i % shares.size()].percent;
  std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.percent > b.percent; });
  std::vector<std::pair<What, unsigned>> percents;
  for (const Share& s : shares)
    if (s.percent) percents.emplace_back(s.what, s.percent);
  return percents;
}

}  // namespace fsr::fstrace
