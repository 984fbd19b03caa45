// SPDX-License-Identifier: Apache-2.0
// The life of an input on a target: image, preparation, run, closing. Whoever runs one, alone or several side by side, goes
// through these steps, and nobody has others.
//
//   RunSteps life(input, target, clock, stop, report);
//   while (input.next_round()) {
//     life.read(image_options, {});
//     if (!life.prepare(prepare_options)) break;
//     life.run(run_options);                  // fills in the report
//   }
//
// Main thread. All members throw std::runtime_error for what keeps the round from starting.
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
  // All must outlive it. `stop` is raised by signals: 1 to end soon, 2 at once.
  RunSteps(Input& input, Target& target, Clock& clock, const std::atomic<int>& stop, Report& report);

  void read(const ImageOptions& options, const Input::ShowProgress& progress);
  // Tells a target that has no names which files there are, and where each is to be.
  void place_files();
  // Makes the image, or goes a step towards it. False: it could not be made, or was interrupted; the report says which.
  bool prepare(PrepareOptions options, const std::function<void(uint64_t done, uint64_t total)>& progress = {});
  // Where several run side by side: one after the other.
  void rehearse();
  // `options`: what is not the input's own. Closes what the image opened, and reports.
  void run(RunOptions options);
  // Finds out which files the slowest operations were about: reads the input once more.
  void name_slowest();

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
