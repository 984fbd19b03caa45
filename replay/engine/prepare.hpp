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

// Of several processes that use one tree, the root makes the contents, the others look them up, the root seals them, and each
// opens what it needs; between two of these steps all meet.
enum class PrepareStep : uint8_t { all, contents, look_up, seal, open };

struct PrepareOptions {
  PrepareStep step = PrepareStep::all;
  std::string trace_id;  // written to the marker; empty: no marker, the target's root is shared with others
  bool marks = true;     // writes the marker; false: another process does
  bool reuse = false;    // keep what is already right
  // In a shared root, what is ours by its name: kept where it is right, else removed. Everything else is left alone.
  bool (*ours)(std::string_view name) = nullptr;
  std::function<bool(HandleId)> opens;  // which of what was open at the start is opened here; empty: all
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

  void add(PrepareResult&& later);  // of a later step
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
