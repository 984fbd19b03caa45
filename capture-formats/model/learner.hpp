// SPDX-License-Identifier: Apache-2.0
// Learns a model from the operations of one or several traces of the same load.
//
// Memory: 16 bytes an operation and 8 bytes a size, because which context is worth its bits is known only at the end. While the
// contexts of a class are chosen, about 24 bytes for each of its operations. One thread.
#pragma once

#include <memory>

#include "model/model.hpp"
#include "op.hpp"

namespace fsr {

class ModelLearner {
 public:
  // `keep_commands`: classes of processes have the names of their commands.
  // `pauses`: long ones of a run, whose times courses keep, at most.
  explicit ModelLearner(bool keep_commands, ModelForm form = ModelForm::contexts, size_t pauses = 2000);
  ~ModelLearner();
  // Each trace is read twice: first all of them by survey(), then all by add(). Operations come in order of start.
  void survey(const Op& op);
  void add(const Op& op);
  void end_trace();  // after the last operation of a trace, each time
  // Throws std::runtime_error, one line, if there is nothing to learn from, or no file can have the model.
  LoadModel finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
