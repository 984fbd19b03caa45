// SPDX-License-Identifier: Apache-2.0
// Chooses the next action in random order, so that the requested shares are met after a few calls already.
//
// Actions are cards, dealt in rounds of kRound. A round holds each card as often as its share requires; rounding errors are
// carried over to the next round. A round is divided into n equal intervals for the n cards of one kind, and one of them falls at
// random into each. All streams draw from one deck, so that a few calls of many streams have the shares, too. If a stream can't
// play a card, the card is left for the next stream. Not thread-safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "util/random.hpp"

namespace fsr {

class ShareDealer {
 public:
  static constexpr unsigned kRound = 200;

  using Shares = std::shared_ptr<const std::vector<double>>;  // many dealers may have the same
  static constexpr size_t kMostCards = 256;                   // different ones

  // `shares` sum to 1; kMostCards at most.
  ShareDealer(Shares shares, Random random) : random_(random) { set_shares(std::move(shares)); }
  ShareDealer(std::span<const double> shares, Random random)
      : ShareDealer(std::make_shared<const std::vector<double>>(shares.begin(), shares.end()), random) {}

  // Returns the first card for which `playable(card)` is true: a number below shares.size(). Nothing: a whole round holds none.
  template <class Playable>
  std::optional<unsigned> deal(Playable playable) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      for (size_t i = at_; i < cards_.size(); ++i) {
        const unsigned card = cards_[i];
        if (!playable(card)) continue;
        // Skipped cards come next.
        std::rotate(cards_.begin() + ptrdiff_t(at_), cards_.begin() + ptrdiff_t(i), cards_.begin() + ptrdiff_t(i) + 1);
        ++at_;
        return card;
      }
      shuffle();
    }
    return {};
  }

  // Begins anywhere in the first round. Otherwise the first few cards of many decks would have other shares, because they follow
  // from the beginnings of the intervals.
  void begin_anywhere() {
    shuffle();
    at_ = random_.below(cards_.size());
  }

  // Lets a round hold a card at most twice as often as its share requires. So cards that no stream could play for many rounds
  // don't come all at once. A round stays so short that looking for a playable card takes no time.
  void limit_backlog() { limited_ = true; }

  // Sets the shares from the next card on. Their number stays the same, and they sum to 1.
  void set_shares(Shares shares) {
    shares_ = std::move(shares);
    owed_.resize(shares_->size());
    for (size_t card = 0; card < owed_.size(); ++card) owed_[card] = (*shares_)[card] > 0 ? 0.5 : 0;  // rounds numbers
    cards_.clear();
    at_ = 0;
  }

 private:
  void shuffle() {
    // Cards that were not played are dealt again.
    for (; at_ < cards_.size(); ++at_) owed_[cards_[at_]] += 1;
    std::vector<std::pair<double, unsigned>> placed;
    for (unsigned card = 0; card < owed_.size(); ++card) {
      owed_[card] += (*shares_)[card] * kRound;
      // Add a little, so that sums of exact shares are not rounded down.
      auto n = unsigned(std::max(0.0, owed_[card] + 1e-9));
      if (limited_) n = std::min(n, unsigned(2 * std::ceil((*shares_)[card] * kRound)));
      owed_[card] -= n;
      for (unsigned i = 0; i < n; ++i) placed.push_back({(i + random_.unit()) / n, card});
    }
    std::sort(placed.begin(), placed.end());
    cards_.clear();
    cards_.reserve(placed.size());
    at_ = 0;
    for (const auto& [place, card] : placed) cards_.push_back(uint8_t(card));
  }

  Shares shares_;
  std::vector<double> owed_;
  Random random_;
  bool limited_ = false;
  std::vector<uint8_t> cards_;
  size_t at_ = 0;
};

}  // namespace fsr
