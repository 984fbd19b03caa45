// SPDX-License-Identifier: Apache-2.0
// The target nfs://: an NFS server, accessed by our own client over TCP. nfs_setup.hpp describes the URL, nfs3_ops.cpp the
// operations in version 3. Versions 4.1 and 4.2 are in ../nfs4.
#pragma once

namespace fsr {

struct TargetPlugin;
extern const TargetPlugin nfs_plugin, nfs4_plugin;

}  // namespace fsr
