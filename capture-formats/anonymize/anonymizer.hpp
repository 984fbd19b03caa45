// SPDX-License-Identifier: Apache-2.0
// A trace under pseudonyms, and back: names, targets of symlinks, attributes, users, processes, commands, hosts, fingerprints.
//
// Content that was captured whole becomes fingerprints first: equal blocks stay equal, and no byte of them leaves. Kinds, times,
// sizes, modes and errors stay as they are. The same holds for the number of the kernel's version, the type of a common file
// system, and what the recorder says of itself. Not thread-safe.
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

// True for a mount option that says how a file system works, and nothing about its owner. Such options stay as they are.
bool plain_mount_option(std::string_view option);
// Bytes at the front that stay as they are: of `uname -r` its number, of a common file system's type all.
size_t plain_kernel(std::string_view release);
size_t plain_mount_type(std::string_view type);

class Anonymizer {
 public:
  Anonymizer(std::string_view key, bool back) : pseudonyms_(key, back), back_(back) {}

  // Returns the operation under pseudonyms. Its pointers lead into `arena`, or where those of `op` lead.
  Op map(const Op& op, Arena& arena);
  LiveState map(const LiveState& state);
  // Leaves out counters of an NFS mount, mounts inside the directory, processes that were not seen and earlier edits, because
  // they have no pseudonyms.
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
