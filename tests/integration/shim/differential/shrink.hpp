// SPDX-License-Identifier: Apache-2.0
// The shortest sequence, with the plainest arguments, that still shows a difference.
#pragma once

#include "pair.hpp"

namespace differential {

// Replaces pair.sequence(), and returns the outcome that it has.
Outcome shrink(Pair& pair, Outcome outcome);

}  // namespace differential
