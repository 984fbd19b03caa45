// SPDX-License-Identifier: Apache-2.0
// The same for the unit tests.
#include "../tests/unit/catch.hpp"
#include "alone.hh"
