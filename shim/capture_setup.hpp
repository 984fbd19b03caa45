// SPDX-License-Identifier: Apache-2.0
// Decides everything about a capture, and opens its files, before anything is mounted.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "background.hpp"
#include "captured_directory.hpp"
#include "command.hpp"
#include "control.hpp"
#include "mapping_recorder.hpp"
#include "mount.hpp"
#include "output.hpp"
#include "process_limits.hpp"
#include "recorder.hpp"
#include "subcommands.hpp"
#include "trace/header.hpp"
#include "user_shares.hpp"

namespace fsr::shim {

constexpr size_t kMostPageBases = 64 << 20;  // bytes of page contents that are kept to find out what mappings changed

// How mappings are served, and what is recorded of them.
struct MappingChoice {
  MappingChoice(const CaptureOptions& options, const std::string& fs_type);  // throws CaptureError
  bool lower() const { return how != Mappings::kSeen; }                      // some are the underlying files' own

  std::string why_seen, why_no_faults;  // as choose_mappings() and watch_faults() return them
  Mappings how;
  std::unique_ptr<PerfEvents> faults;  // null: page faults are not recorded
};

// Members are made in this order: each may need what the earlier ones did. Throws CaptureError.
struct CaptureSetup {
  explicit CaptureSetup(CaptureOptions& options);  // changes the options as find_captured() does

  const std::string& directory() const { return captured.path; }
  bool over_mount() const { return options.command.empty(); }  // false: mounted only for the command

  const CaptureOptions& options;
  std::unique_ptr<Background> parent;  // null: stays in the foreground
  const bool root_user;                // before this process enters a user namespace
  const ProcessSettings original;      // for a command
  // These three read /sys/fs/cgroup, which may lie below the directory. Once that is mounted over, the read would wait for this
  // process.
  const RingSize rings;
  const UserShares::Limits thread_limits;
  const size_t page_bases;  // bytes, at most kMostPageBases
  const CapturedDirectory captured;
  const MountPathHandle way;
  CaptureOutput output;
  MappingChoice mappings;
  TraceHeader header;  // the times of the start are still to come
  ControlFields fields;
  ControlServer control;
};

}  // namespace fsr::shim
