// SPDX-License-Identifier: Apache-2.0
#include "model/urn.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fsr {

namespace {

constexpr double kOften = 2;       // visits of a process to a context, from which on it has an urn of its own
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

Urn::Urn(Urn& all, double part)
    : context_(all.context_), share_(all.share_), all_(&all), part_(std::min(part, kMostPart)), left_(all.left_.size()) {}

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
    const auto more = uint64_t(std::floor(n * (from + part) + offsets[i]) - std::floor(n * from + offsets[i]));
    left_[i] += more;
    sum_ += more;
  }
}

// Takes the symbol at this place among all that `weights` counts, which has no more of each than is left.
SymbolId Urn::take(uint64_t at, std::span<const uint64_t> weights) {
  size_t i = 0;
  for (; at >= weights[i]; ++i) at -= weights[i];
  --left_[i];
  --sum_;
  return context_.next[i].first;
}

SymbolId Urn::draw(Random& random) {
  while (sum_ == 0) {
    double& given = all_ ? all_->given_ : given_;
    fill(given, part_);
    given += part_;
  }
  uint64_t& last = left_[index(context_.last)];
  const uint64_t kept = all_ && last > 0 && sum_ > 1;
  last -= kept;
  const SymbolId drawn = take(random.below(sum_ - kept), left_);
  last += kept;
  return drawn;
}

std::optional<SymbolId> Urn::draw_other(std::span<const SymbolId> without, Random& random) {
  std::vector<uint64_t> weights = left_;
  for (SymbolId symbol : without) weights[index(symbol)] = 0;
  const uint64_t sum = std::accumulate(weights.begin(), weights.end(), uint64_t(0));
  if (sum == 0) return std::nullopt;
  return take(random.below(sum), weights);
}

void Urn::put_back(SymbolId symbol) {
  ++left_[index(symbol)];
  ++sum_;
}

}  // namespace fsr
