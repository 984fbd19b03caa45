// SPDX-License-Identifier: Apache-2.0
#include "model/urn.hpp"

#include <algorithm>
#include <cmath>

namespace fsr {

namespace {

constexpr double kOften = 2;      // visits of a process to a context, from which on it has an urn of its own
constexpr double kMostPart = 1e6;  // fillings that a process takes at once; all counts stay far below 2^63

}  // namespace

Urn::Urn(const ModelContext& context, double share, Random& random) : context_(context), left_(context.next.size()) {
  double sum = 0;
  for (const auto& [symbol, n] : context.next) sum += n;
  share_ = std::max(share, 1 / sum);  // so that a filling has a symbol
  // Neighbours that are rare come in turn, and the sum of a filling is right.
  double at = random.unit();
  for (const auto& [symbol, n] : context.next) {
    offsets_.push_back(at - std::floor(at));
    at -= share_ * n;
  }
}

Urn::Urn(Urn& all, double part) : context_(all.context_), share_(all.share_), all_(&all), part_(std::min(part, kMostPart)), left_(all.left_.size()) {}

bool Urn::divides(double part) const {
  double sum = 0;
  for (const auto& [symbol, n] : context_.next) sum += n;
  return sum * share_ * part >= kOften;
}

size_t Urn::index(SymbolId symbol) const {
  const auto at = std::lower_bound(context_.next.begin(), context_.next.end(), symbol,
                                   [](const auto& next, SymbolId id) { return next.first < id; });
  return size_t(at - context_.next.begin());
}

// Adds the part of the fillings that begins at `from`.
void Urn::fill(double from, double part) {
  const std::vector<double>& offsets = all_ ? all_->offsets_ : offsets_;
  for (size_t i = 0; i < left_.size(); ++i) {
    const double n = share_ * context_.next[i].second;
    const auto more = int64_t(std::floor(n * (from + part) + offsets[i]) - std::floor(n * from + offsets[i]));
    sum_ += std::max<int64_t>(0, left_[i] + more) - std::max<int64_t>(0, left_[i]);
    left_[i] += more;
  }
}

SymbolId Urn::draw(Random& random) {
  while (sum_ == 0) {
    double& given = all_ ? all_->given_ : given_;
    fill(given, part_);
    given += part_;
  }
  const size_t last = index(context_.last);
  const auto kept = int64_t(all_ && left_[last] > 0 && sum_ > 1);
  uint64_t at = random.below(uint64_t(sum_ - kept));
  for (size_t i = 0;; ++i) {
    const auto here = uint64_t(std::max<int64_t>(0, left_[i] - (i == last ? kept : 0)));
    if (at < here) {
      --left_[i];
      --sum_;
      return context_.next[i].first;
    }
    at -= here;
  }
}

std::optional<SymbolId> Urn::draw_other(std::span<const SymbolId> without, Random& random) {
  std::vector<double> weights(left_.size());
  double sum = 0;
  for (bool beyond : {false, true}) {
    for (size_t i = 0; i < left_.size(); ++i) {
      const auto& [symbol, n] = context_.next[i];
      const bool excluded = std::find(without.begin(), without.end(), symbol) != without.end();
      weights[i] = excluded ? 0 : beyond ? double(n) : double(std::max<int64_t>(0, left_[i]));
      sum += weights[i];
    }
    if (sum > 0) break;
  }
  if (sum == 0) return std::nullopt;
  double at = random.unit() * sum;
  size_t i = 0;
  for (size_t k = 0; k < weights.size(); ++k) {
    if (weights[k] == 0) continue;
    i = k;
    if (at < weights[k]) break;
    at -= weights[k];
  }
  if (left_[i]-- > 0) --sum_;
  return context_.next[i].first;
}

void Urn::put_back(SymbolId symbol) {
  if (++left_[index(symbol)] > 0) ++sum_;
}

}  // namespace fsr
