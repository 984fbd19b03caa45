// SPDX-License-Identifier: Apache-2.0
#include "shrink.hpp"

#include <algorithm>

namespace differential {

namespace {

class Shrinker {
 public:
  Shrinker(Pair& pair, Outcome outcome) : pair_(pair), best_(pair.sequence()), outcome_(std::move(outcome)) {}

  Outcome shrink() {
    if (outcome_.what == Outcome::What::answer) {
      best_.count = outcome_.op + 1;
      if (!still(best_)) return finish();  // it was no matter of the calls alone
    }
    for (uint32_t before = 0; before != best_.count;) {
      before = best_.count;
      remove_ops();
    }
    plain_arguments();
    remove_ops();
    return finish();
  }

 private:
  // Whether a sequence shows the same kind of difference, which then is the best so far.
  bool still(const Sequence& sequence) {
    pair_.sequence() = sequence;
    Outcome found = pair_.run();
    if (found.what != outcome_.what || found.sign != outcome_.sign) return false;
    best_ = sequence;
    outcome_ = std::move(found);
    return true;
  }

  void remove_ops() {
    for (uint32_t chunk = std::max(best_.count / 2, 1u); chunk > 0; chunk /= 2) {
      for (uint32_t at = 0; at < best_.count;) {
        Sequence shorter = best_;
        uint32_t gone = std::min(chunk, shorter.count - at);
        std::copy(shorter.ops.begin() + at + gone, shorter.ops.begin() + shorter.count, shorter.ops.begin() + at);
        shorter.count -= gone;
        if (shorter.count == 0 || !still(shorter)) at += chunk;
      }
    }
  }

  void plain_arguments() {
    for (uint32_t i = 0; i < best_.count; ++i) {
      try_with(i, [](Op& op) { op.actor = kRoot; });
      const auto& kinds = calls()[best_.ops[i].call].kinds;
      for (size_t k = 0; k < kinds.size(); ++k) {
        try_with(i, [&](Op& op) { op.args[k] = kinds[k]->one_of[0].value; });
        for (const Choice& bit : kinds[k]->any_of) {
          try_with(i, [&](Op& op) { op.args[k] &= ~bit.value; });
        }
      }
    }
  }

  template <class Change>
  void try_with(uint32_t i, Change change) {
    Sequence changed = best_;
    change(changed.ops[i]);
    if (show(changed.ops[i]) != show(best_.ops[i])) still(changed);
  }

  Outcome finish() {
    pair_.sequence() = best_;
    return outcome_;
  }

  Pair& pair_;
  Sequence best_;
  Outcome outcome_;
};

}  // namespace

Outcome shrink(Pair& pair, Outcome outcome) {
  const bool dead_mount = outcome.what == Outcome::What::hang || outcome.what == Outcome::What::trouble;
  if (dead_mount) return outcome;
  return Shrinker(pair, std::move(outcome)).shrink();
}

}  // namespace differential
