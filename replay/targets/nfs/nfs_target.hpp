// SPDX-License-Identifier: Apache-2.0
// The target nfs://, a client of our own over TCP: see nfs_setup.hpp for the URL and nfs3_ops.cpp for what becomes of operations
// in version 3; versions 4.1 and 4.2 are in ../nfs4.
#pragma once

namespace fsr {

struct TargetPlugin;
extern const TargetPlugin nfs_plugin, nfs4_plugin;

}  // namespace fsr
