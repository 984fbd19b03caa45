// SPDX-License-Identifier: Apache-2.0
// --dry-run: what a replay would need and what the target could not do, without touching the target.
#pragma once

namespace fsr {

class Input;
class Target;
struct Report;

// Prints to standard output. Status 1 when operations could not be issued or the image does not fit. `report`: with the image.
int dry_run(Input& input, Target& target, const Report& report, bool json);

}  // namespace fsr
