// SPDX-License-Identifier: Apache-2.0
// The directory that is to be captured: found, opened, looked at before anything is mounted over it.
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

int open_directory(const std::string& directory);  // O_PATH. Throws CaptureError
void same_directory_or_fail(int a, int b, const std::string& directory);

// Throws CaptureError if another capture has been mounted over the directory meanwhile.
void refuse_captured(const MountPathHandle& way, const std::string& directory);

// Refuses io_uring where it is not at hand; enters a user namespace where one is needed. Throws CaptureError for what is not
// captured.
CapturedDirectory find_captured(CaptureOptions& options);

// Says why a capture is not started while `processes` have files mapped shared and writable. `mappings_differ`: why a mapping
// through the capture will not be one with theirs; empty: it will be. Empty: nothing is in the way.
std::string mapping_problem(const std::vector<std::string>& processes, const std::string& mappings_differ);

// Tells the user and the trace what the capture will not see or not allow. Throws CaptureError where mapping_problem() has an
// answer.
void report_limits(const CapturedDirectory& captured, TraceHeader& header, const std::string& mappings_differ);

}  // namespace fsr::shim
