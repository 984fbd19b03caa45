// SPDX-License-Identifier: Apache-2.0
// Takes an input through its steps on a target: image, preparation, run, closing. All runs take these steps, alone or side by
// side with others.
//
//   RunSteps life(input, target, clock, stop, report);
//   while (input.next_round()) {
//     life.read(image_options, {});
//     if (!life.prepare(prepare_options)) break;
//     life.run(run_options);                  // fills in the report
//   }
//
// Use from the main thread. All members throw std::runtime_error if the round can't start.
#pragma once

#include <atomic>

#include "engine/prepare.hpp"
#include "engine/run.hpp"
#include "inputs/input.hpp"
#include "plan/image.hpp"
#include "util/object_set.hpp"

namespace fsr {

class Clock;
class Target;
struct Report;

class RunSteps {
 public:
  // All arguments must outlive it. `stop`: raised by signals; 1: end soon; 2: end at once.
  RunSteps(Input& input, Target& target, Clock& clock, const std::atomic<int>& stop, Report& report);

  void read(const ImageOptions& options, const Input::ShowProgress& progress);
  // Gives a target without names the list of files with their sizes, so that it can assign a position to each.
  void place_files();
  // Makes the image, or takes one step of making it. False: it could not be made, or was interrupted; the report says which.
  bool prepare(PrepareOptions options, const std::function<void(uint64_t done, uint64_t total)>& progress = {});
  // Measures on the target what the load depends on (Input::rehearse). If several run side by side, call it for one at a time.
  void rehearse();
  // Runs the input, closes what the image opened, and fills in the report. `options`: those that the input does not set itself.
  void run(RunOptions options);
  // Finds the paths of files that operations in the report used: those that differed and, if `slowest`, the slowest ones. Reads
  // the input once more, unless it has kept the names.
  void name_operations(bool slowest);

 private:
  std::string close();

  Input& input_;
  Target& target_;
  Clock& clock_;
  const std::atomic<int>& stop_;
  Report& report_;
  Image image_;
  ObjectSet known_;
};

}  // namespace fsr
