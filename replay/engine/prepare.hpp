// SPDX-License-Identifier: Apache-2.0
// Brings a target to the state that a replay starts from: builds the initial image, or reuses what an earlier run left.
//
// Trees that we made carry a marker, the file kMarkerName in the target's root, which holds the trace's
// id.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/target.hpp"
#include "engine/run.hpp"

namespace fsr {

class Image;

struct PrepareOptions {
  std::string trace_id;  // written to the marker; empty: no marker, the target's root is shared with others
  bool reuse = false;    // keep what is already right
  // In a shared root, what is ours by its name: kept where it is right, else removed. Everything else is left alone.
  bool (*ours)(std::string_view name) = nullptr;
  unsigned workers = 0;
  const CredentialMap* credentials = nullptr;
  const std::atomic<int>* stop = nullptr;
  std::function<void(const Progress&)> progress;  // of plan_size() operations
};

struct PrepareResult {
  uint64_t operations = 0;  // issued to make things
  uint64_t kept = 0;        // objects found right (reuse)
  uint64_t failed = 0;      // operations that failed; named in `failures`
  uint64_t bytes = 0;       // written
  int64_t elapsed = 0;
  bool stopped = false;
  std::vector<Mismatch> failures;
};

enum class Marker : uint8_t { absent, same, other };
// Whether the target's root holds our marker, of this trace or of another one. Throws std::runtime_error when the target
// can't be asked.
Marker find_marker(Target& target, Clock& clock, const std::string& trace_id);

// `known` receives the objects that the target was taught, for RunOptions::known.
PrepareResult prepare(Image& image, Target& target, Clock& clock, const PrepareOptions& options, ObjectSet& known);
// How many operations prepare() of an empty target issues, for progress bars.
uint64_t plan_size(const Image& image);

}  // namespace fsr
