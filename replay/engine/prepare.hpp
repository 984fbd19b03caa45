// SPDX-License-Identifier: Apache-2.0
// Brings a target to the state that a replay starts from: builds the initial image, or reuses what an earlier run left.
//
// A tree that fsreplay made carries a marker: the file kMarkerName in the target's root, which holds the trace's id.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/target.hpp"
#include "engine/run.hpp"
#include "plan/image_source.hpp"

namespace fsr {

class Image;

// Steps in which several processes prepare one tree. The root makes the contents, the others look them up, the root seals them,
// and each process opens what it needs. All processes meet between two steps.
enum class PrepareStep : uint8_t { all, contents, look_up, seal, open };

struct PrepareOptions {
  PrepareStep step = PrepareStep::all;
  std::string trace_id;  // written to the marker; empty: no marker, because others use the target's root as well
  bool marks = true;     // true: writes the marker; false: another process writes it
  bool reuse = false;    // true: keep objects that are right already
  // True for the names in a shared root that belong to this replay: these are kept if they are right, else removed. All others
  // are left alone. Null: no name belongs to it.
  bool (*ours)(std::string_view name) = nullptr;
  std::function<bool(HandleId)> opens;  // whether this process opens a handle that was open at the start; empty: all
  unsigned workers = 0;
  bool inline_workers = false;  // as in RunOptions
  const CredentialMap* credentials = nullptr;
  const std::atomic<int>* stop = nullptr;
  size_t described = 20;                          // number of failures that are described
  std::function<void(const Progress&)> progress;  // out of plan_size() operations
};

struct PrepareResult {
  uint64_t operations = 0;  // issued to make the image
  uint64_t kept = 0;        // objects that were right already (reuse)
  uint64_t failed = 0;      // operations that failed; named in `failures`
  uint64_t unanswered = 0;  // of `failed`: the target could not be reached, or did not answer in time
  uint64_t bytes = 0;       // written
  int64_t elapsed = 0;
  bool stopped = false;
  std::vector<Mismatch> failures;

  void add(PrepareResult&& later);  // adds the result of a later step
};

enum class Marker : uint8_t { absent, same, other };
// Finds out whether the target's root holds a marker, of this trace or of another one. Throws std::runtime_error if the marker
// can't be read.
Marker find_marker(Target& target, Clock& clock, const std::string& trace_id);

// Prepares the target. `known`: receives the objects whose ids the target has mapped, for RunOptions::known.
PrepareResult prepare(Image& image, Target& target, Clock& clock, const PrepareOptions& options, ObjectSet& known);
// Makes or, with PrepareStep::look_up, looks up what is not `present` of an image that grows while the target is in use; never
// removes anything. `present`: by index into ImageTree::names.
PrepareResult prepare_rest(Image& image, const PresentNames& present, Target& target, Clock& clock, const PrepareOptions& options,
                           ObjectSet& known);
// Returns how many operations prepare() issues on an empty target, for progress bars.
uint64_t plan_size(const Image& image);

}  // namespace fsr
