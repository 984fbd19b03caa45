// SPDX-License-Identifier: Apache-2.0
// Symlinks that a mounted NFS's client has to read again. Linux keeps what it has read or made of them, whatever the mount
// options, until their change time moves: another client has to change them.
#pragma once

#include <string>
#include <vector>

#include "workloads/working_set.hpp"

namespace fsr {

class Clock;

// How many symlinks each stream needs, so that a run of that many requests reads none twice; bounded.
unsigned links_to_read(const MixPlan& plan, uint64_t requests, unsigned streams);

// Sets the owner of each symlink to the one that it has, through a client of this program; `url` is the directory of the streams.
// Returns what kept it from that, empty if nothing did.
std::string make_links_stale(const std::string& url, const std::vector<StreamFiles>& streams, Clock& clock);

}  // namespace fsr
