// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fsr {

struct TargetPlugin;
extern const TargetPlugin null_plugin;

}  // namespace fsr
