// SPDX-License-Identifier: Apache-2.0
// Keeps a replay away from the directory that its trace captured, by whatever name. All throw std::runtime_error with one line
// that says what to do.
#pragma once

#include <string>

#include "trace/header.hpp"

namespace fsr {

// Throws if `url` is the directory that was captured, which the replay would overwrite.
void refuse_captured_place(const std::string& url, const TraceHeader& header);
// Throws if `url` names a server on the captured host, or the one that the captured directory is mounted from.
void refuse_own_server(const std::string& url, const TraceHeader& header);
// Throws if `url` is a directory on the captured host, of a FUSE server that does not say which directory is behind it.
void refuse_unknown_fuse(const std::string& url, const TraceHeader& header);

}  // namespace fsr
