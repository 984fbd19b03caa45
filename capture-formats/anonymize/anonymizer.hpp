// SPDX-License-Identifier: Apache-2.0
// A trace under pseudonyms, and back: names, targets of symlinks, attributes, users, processes, commands, hosts, fingerprints.
//
// Content that was captured whole becomes fingerprints first: equal blocks stay equal, and no byte of them leaves. Kept are
// kinds, times, sizes, modes, errors, the number of the kernel's version, the kind of file system where it is a common one, and
// the recorder's own words about itself. Not thread-safe.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "fingerprint.hpp"
#include "op_source.hpp"
#include "pseudonyms.hpp"
#include "trace/header.hpp"
#include "trace/live_state.hpp"

namespace fsr {

// Whether a mount option says how a file system works and not whose it is: such stay.
bool plain_mount_option(std::string_view option);
// How many bytes stay of what `uname -r` says, its number, and of a kind of file system: all of those that many know.
size_t plain_kernel(std::string_view release);
size_t plain_mount_type(std::string_view type);

class Anonymizer {
 public:
  Anonymizer(std::string_view key, bool back) : pseudonyms_(key, back), back_(back) {}

  // What it points to is in `arena`, or was already in the operation.
  Op map(const Op& op, Arena& arena);
  LiveState map(const LiveState& state);
  // Without what can't be told under pseudonyms: counters of an NFS mount, mounts inside, processes not seen, earlier edits.
  TraceHeader map(const TraceHeader& header);

  uint64_t hashed() const { return pseudonyms_.hashed(); }   // names without a way back
  uint64_t fingerprinted() const { return fingerprinted_; }  // operations whose content was captured whole
  std::string key_mark() { return pseudonyms_.key_mark(); }

 private:
  std::string mount_options(std::string_view options);
  std::string behind(std::string_view text, size_t plain);
  std::string xattr_value(std::string_view name, std::string_view value);
  void map(Attr& attr);
  const ThreadInfo* map(const ThreadInfo& who, Arena& arena);

  Pseudonyms pseudonyms_;
  const bool back_;
  uint64_t fingerprinted_ = 0;
  Fingerprinter fingerprinter_{{}};  // its fingerprints get pseudonyms, too
  CompressionMeter meter_;
};

}  // namespace fsr
