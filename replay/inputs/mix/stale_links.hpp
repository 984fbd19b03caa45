// SPDX-License-Identifier: Apache-2.0
// Makes the client of a mounted NFS read symlinks again. Linux caches the target of each symlink that it has read or made until
// the change time of the symlink moves, whatever the mount options. So another client must change the symlinks.
#pragma once

#include <string>
#include <vector>

#include "workloads/working_set.hpp"

namespace fsr {

class Clock;

// Returns the number of symlinks that each stream needs, so that a run of `requests` requests reads none of them twice. There is
// an upper limit, at which some are read twice.
unsigned links_to_read(const MixPlan& plan, uint64_t requests, unsigned streams);

// Sets the owner of each symlink to its present owner, through an NFS client of this program. `url`: the directory of the
// streams. Returns why this failed. Empty: it did not.
std::string make_links_stale(const std::string& url, const std::vector<StreamFiles>& directories, Clock& clock);

}  // namespace fsr
