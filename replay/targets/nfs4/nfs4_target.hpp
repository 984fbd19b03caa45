// SPDX-License-Identifier: Apache-2.0
// The target nfs:// with version=4.1 or version=4.2. ../nfs/nfs_setup.hpp describes the URL, ops.cpp the operations. The export's
// path is looked up from the server's root, without portmapper and MOUNT.
#pragma once

#include <memory>

#include "base/target.hpp"
#include "targets/wire/url.hpp"

namespace fsr::nfs4 {

extern const OpMapping k41Mapping, k42Mapping;

// Throws std::runtime_error, one line.
std::unique_ptr<Target> open_target(const wire::Url& url, uint32_t minor_version, const TargetOptions& options);

}  // namespace fsr::nfs4
