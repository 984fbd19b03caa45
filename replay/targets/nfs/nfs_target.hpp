// SPDX-License-Identifier: Apache-2.0
// The target nfs://, an own NFSv3 client over TCP: see nfs_setup.hpp for the URL and nfs3_ops.cpp for what becomes of operations.
#pragma once

namespace fsr {

struct TargetPlugin;
extern const TargetPlugin nfs_plugin;

}  // namespace fsr
