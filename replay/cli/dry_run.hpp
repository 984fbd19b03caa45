// SPDX-License-Identifier: Apache-2.0
// --dry-run: what a replay would need and what the target could not do, without touching the target.
#pragma once

#include "cli/options.hpp"
#include "report/report.hpp"

namespace fsr {

class Target;
class OpSource;

// Prints to standard output. Status 1 when operations could not be issued or the image does not fit.
// `source`: the operations of the range, without clones; null for a synthesized load.
int dry_run(const CommandLine& command, OpSource* source, Target& target, const Report& report);

}  // namespace fsr
