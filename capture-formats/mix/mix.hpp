// SPDX-License-Identifier: Apache-2.0
// The mix of an NFS load: which share of its calls each procedure has. Read from anyone's saved nfsstat output, or built in.
//
// Dialects, their grammar and the sources of the built-in mixes: docs/mixfile.md. Free of state and threads; a mixfile is foreign
// input: its size is bounded (kMixFileMax), its numbers are 64 bits wide and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mix/traits.hpp"

namespace fsr {

struct MixProcedure {
  std::string name;    // the RFC's, lower case: "getattr", "readdirplus", "open", "putfh" (table: procedures.hpp)
  double weight = 0;   // share of all calls, 0..1
  uint64_t count = 0;  // as counted (with an earlier snapshot: since then); of a built-in mix: percent
};

struct Mix {
  unsigned nfs_version = 3;              // 2, 3 or 4 (4: the operations of COMPOUNDs, not the COMPOUNDs)
  std::vector<MixProcedure> procedures;  // every procedure of the version, in protocol order, each once; weights sum to 1
  uint64_t calls = 0;                    // sum of the counts; 0 for a built-in mix
  std::string dialect;                   // "Linux nfsstat, server, NFSv3", "built-in sfs97-v3": for people
  MixTraits traits;                      // traits that the file has besides counts; not with MixReadOptions::compat
  std::vector<std::string> notes;        // remarks for people, one line each: choices, and what was ignored, renamed, wrapped

  double weight(std::string_view name) const;  // 0 where the mix has no such procedure
};

// One line: "web.mix:14: bad mix format: can't find 'calls' value".
struct MixError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct MixReadOptions {
  unsigned nfs_version = 0;  // which of several: 2, 3, 4; 0: the one with the most calls
  bool client = false;       // the client's counts; false: the server's, and the client's only where there are no others
  bool compat = false;       // as the original nhfsstone: whole percents of the printed calls, below 0.5 % never called
};

constexpr size_t kMixFileMax = 16 << 20;  // bytes

struct MixText {
  std::string_view text;
  std::string name;  // for messages
};

// Reads a mix. `since`: an earlier snapshot of its counters, in any dialect; null: none. Throws MixError, also for no calls.
Mix read_mix(const MixText& mix, const MixReadOptions& options = {}, const MixText* since = nullptr);

// Reads a mix from a file. `file`: its name, "-" for standard input, or if there is no such file the name of a built-in mix.
Mix load_mix(const std::string& file, const MixReadOptions& options = {}, const std::string& since = {});

// True if the first 4 KiB (or all) look like a mixfile and not like, for example, a trace. Only read_mix() recognises damaged
// ones.
bool sniff_mix(std::string_view first_bytes);
// True if the input is text: even if it is no mixfile, read_mix() then names the error. False for a trace, which is binary.
bool may_be_mix(std::string_view first_bytes);

// "nhfsstone", "laddis" (v2), "sfs97-v2", "sfs97-v3", "sfs2008-v3". Null: no such mix.
const Mix* built_in_mix(std::string_view name);
std::vector<std::string_view> built_in_mixes();
std::string built_in_mix_names();  // "nhfsstone, laddis, ...", for messages

// Every procedure of a version in protocol order, with these weights (any scale; names not given: 0), normalised; count = the
// rounded weight. For mixes that come from elsewhere than a file. Throws MixError on a name the version doesn't have.
Mix make_mix(unsigned nfs_version, const std::vector<std::pair<std::string, double>>& weights, std::string dialect);

}  // namespace fsr
