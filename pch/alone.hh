// SPDX-License-Identifier: Apache-2.0
// The same for programs whose files are compiled each alone in a unity build, too.
#undef FSR_UNITY
#include "common.hh"
