// SPDX-License-Identifier: Apache-2.0
#include "nearest.hpp"

#include <algorithm>
#include <utility>

namespace fsr {

// Optimal string alignment: rows are the letters of `a` so far.
static size_t changes(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = std::exchange(row, next);
  }
  return row.back();
}

std::string nearest_word(std::string_view typed, const std::vector<std::string>& words) {
  std::string best;
  size_t fewest = std::max<size_t>(1, typed.size() / 3) + 1;
  for (const std::string& word : words)
    if (const size_t n = changes(typed, word); n < fewest) {
      fewest = n;
      best = word;
    }
  return best;
}

std::string choices(std::string_view typed, const std::vector<std::string>& words) {
  const std::string meant = nearest_word(typed, words);
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return (meant.empty() ? "there are " : "did you mean " + meant + "? There are ") + all;
}

}  // namespace fsr
