// SPDX-License-Identifier: Apache-2.0
// Finds, opens and checks the directory that is to be captured, before anything is mounted over it.
#pragma once

#include <string>

#include "mount.hpp"
#include "subcommands.hpp"
#include "trace/header.hpp"
#include "util/unique_fd.hpp"

namespace fsr::shim {

struct CapturedDirectory {
  std::string path;  // absolute, without symlinks
  UniqueFd root;     // O_PATH
  MountEntry below;  // the mount that it is on
};

// Returns the path of a directory without symlinks. Throws CaptureError, also if that path does not lead there in this process's
// mount namespace.
std::string absolute_directory(const std::string& directory);
int open_directory(const std::string& directory);  // O_PATH. Throws CaptureError
void same_directory_or_fail(int a, int b, const std::string& directory);

// Throws CaptureError if another capture has been mounted over the directory meanwhile.
void refuse_captured(const MountPathHandle& way, const std::string& directory);

// Refuses io_uring if it is not available; enters a user namespace if one is needed. Throws CaptureError for directories that
// can't be captured.
CapturedDirectory find_captured(CaptureOptions& options);

// Says why a capture is not started while `processes` have files mapped shared and writable. `mappings_differ`: why a mapping
// through the capture will not be one with theirs; empty: it will be. Empty: nothing is in the way.
std::string mapping_problem(const std::vector<std::string>& processes, const std::string& mappings_differ);

// The same for file systems mounted inside, whose mappings may differ where those of the directory, on `type`, do not.
std::string mapping_problem_inside(const std::string& directory, const std::string& type);

// Prints what the capture will not see or not allow, and adds it to the header. Unless `force`, throws CaptureError if
// mapping_problem() or mapping_problem_inside() returns a reason.
void report_limits(const CapturedDirectory& captured, TraceHeader& header, const std::string& mappings_differ, bool force);

// The same for sockets that were bound before, which are out of reach beneath a FUSE file system.
void report_sockets(const std::string& directory, TraceHeader& header);

}  // namespace fsr::shim
