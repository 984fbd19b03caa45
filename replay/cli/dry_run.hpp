// SPDX-License-Identifier: Apache-2.0
// --dry-run: what a replay would need and what the target could not express, found without changing the target.
#pragma once

namespace fsr {

class Input;
class Target;
struct Report;

// Prints to standard output. `report`: contains the image. Returns the exit status: 1 if the image does not fit; kInexpressible
// if the target can't express some operations that --allow does not name.
int dry_run(Input& input, Target& target, const Report& report, bool json);

}  // namespace fsr
