// SPDX-License-Identifier: Apache-2.0
// Traits of a mix beyond the shares of its procedures: failed lookups, and order and sizes of reads and writes. They are written
// as lines "# fsreplay: ..." that other readers of nfsstat's output pass over. docs/mixfile.md has their grammar. Plain data,
// counted by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/positions.hpp"
#include "util/histogram.hpp"

namespace fsr {

constexpr uint64_t kMostMixTransfer = 1 << 20;  // bytes of one read or write of a mix; larger ones count as these

struct SizeWeight {
  uint64_t bytes = 0;
  double weight = 0;  // relative to the others of its list, above 0
};

// Traits of the reads of a mix, or of its writes.
struct TransferTraits {
  double sequential = 0;                            // share of all, 0..1
  std::vector<SizeWeight> sequential_sizes, sizes;  // sizes of those, and sizes of the others
  bool known() const { return !sequential_sizes.empty() || !sizes.empty(); }
};

struct MixTraits {
  std::optional<double> failed_lookups;  // share of all lookups, 0..1
  TransferTraits reads, writes;
};

// Counts the traits of the operations of a trace.
class TraitCounts {
 public:
  struct Transfers {
    uint64_t count = 0, sequential = 0;
    // Bytes moved, by buckets: [0] of those that are not sequential, [1] of those that are. Failed operations are not counted.
    std::array<Histogram, 2> sizes;
    double share() const { return count ? double(sequential) / double(count) : 0; }
  };

  void add(const Op& op);

  uint64_t lookups = 0, failed_lookups = 0;  // failed: no such name
  Transfers reads, writes;

  double lookup_share() const { return lookups ? double(failed_lookups) / double(lookups) : 0; }
  MixTraits traits() const;

 private:
  Positions positions_;
};

// "40.0 % of lookups find no such name, ..."; empty: nothing is known.
std::string traits_words(const MixTraits& traits);

// Returns lines that end in a newline. Empty: nothing was counted.
std::string traits_text(const MixTraits& traits);

// Adds the traits of `line`, which begins with kTraitMark. Returns its error: "expected a share from 0 to 100 %". Empty: none.
constexpr std::string_view kTraitMark = "# fsreplay:";
std::string add_trait(std::string_view line, MixTraits* traits);

}  // namespace fsr
