// SPDX-License-Identifier: Apache-2.0
// How alike two traces are: a distance for each aspect, 0 (the same) to 1 (nothing in common), and the numbers behind it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "pairing.hpp"
#include "profile.hpp"
#include "util/status_line.hpp"

namespace fsr::fstrace {

enum class Aspect : uint8_t { mix, arrivals, gaps, latency, depth, working_set, lookups, sequential, sizes, outcomes, names };
constexpr size_t kAspects = 11;
struct AspectEntry {
  const char* name;
  const char* what;  // is compared, and how
};
const AspectEntry& aspect_entry(Aspect aspect);

struct KindComparison {
  OpKind kind = OpKind::null;
  // Distances; latency and gaps are those of Kolmogorov and Smirnov, outcomes the share of operations that went another way.
  double latency = 0, gaps = 0, outcomes = 0;
};

// Operations that are in both traces, and those that are not.
struct PairsComparison {
  uint64_t pairs = 0, differing = 0, only_first = 0, only_second = 0;
  std::vector<std::string> examples;  // the first that differ, "operation 12, write: 4,096, then ENOSPC"
};

struct NamesComparison {
  uint64_t same = 0, only_first = 0, only_second = 0, differing = 0;  // the same path, another type, size or symlink target
  std::vector<std::string> examples;                                  // the first of each of these, "only in a.zst: dir/file"
};

// Tolerance for an aspect of one kind: latency, gaps or outcomes.
struct KindTolerance {
  OpKind kind = OpKind::null;
  Aspect aspect = Aspect::latency;
  double value = 0;
};

struct Comparison {
  std::array<double, kAspects> distances{};
  std::array<std::optional<double>, kAspects> tolerances;
  std::vector<KindTolerance> kind_tolerances;
  std::vector<KindComparison> kinds;  // kinds that at least one trace has, the most frequent first
  PairsComparison pairs;
  NamesComparison names;
  bool exceeded(size_t aspect) const { return tolerances[aspect] && distances[aspect] > *tolerances[aspect]; }
  double distance_of(const KindTolerance& t) const;  // 0 where neither has such operations
  bool alike() const;                                // nothing is exceeded
};

// Reads the operations of two traces whose profiles have begun, side by side, so that none is far from its pair. Then it ends
// profiles and pairing. `others` is added to the threads of the second trace. `line`: shows how far it is; may be null.
void read_both(TraceReader& first, Profile& a, TraceReader& second, Profile& b, Pairing& pairing, ThreadId others,
               StatusLine* line);

Comparison compare_profiles(const Profile& a, const Profile& b, const Pairing& pairing);

std::string compare_text(const Profile& a, const Profile& b, const Comparison& c);
std::string compare_json(const Profile& a, const Profile& b, const Comparison& c);
std::string compare_html(const Profile& a, const Profile& b, const Comparison& c);

}  // namespace fsr::fstrace
