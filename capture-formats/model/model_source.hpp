// SPDX-License-Identifier: Apache-2.0
// Operations that a model makes up, in order of start. The same model, options and seed make the same operations.
//
// Memory follows the objects of the invented tree and the processes that run at the same time. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "model/model.hpp"
#include "op_source.hpp"
#include "trace/header.hpp"

namespace fsr {

class LiveState;

struct ModelOptions {
  uint64_t seed = 1;
  double load = 1;       // multiple of the processes; each whole one, and the rest, works in a directory of its own
  int64_t duration = 0;  // ns; the load repeats until then. 0: one run of the load
};

struct ModelCounts {
  uint64_t operations = 0;
  uint64_t wanted = 0;    // operations that the options ask for
  uint64_t closed = 0;    // of `operations`: releases, and flushes for locks, that were added where a process ended
  uint64_t left_out = 0;  // steps for which the tree had nothing that fits
  std::map<std::pair<OpKind, uint16_t>, uint64_t> left_out_symbols;  // of `left_out`, by kind and errno of the planned operation
  double left_out_share() const { return left_out ? double(left_out) / double(left_out + operations) : 0; }
};

// Share of the steps that may be left out in a run that is like its load.
constexpr double kMostLeftOut = 0.1;
// Returns the operations that are left out most often, "lookup EACCES 1,200, open 3".
std::string left_out_text(const ModelCounts& counts);

class ModelSource final : public OpSource {
 public:
  ModelSource(const LoadModel& model, const ModelOptions& options);  // `model` must outlive this
  ~ModelSource() override;
  bool next(OpBatch& batch) override;  // also throws std::runtime_error when a signal ends the program (stop_signals.hpp)
  const ModelCounts& counts() const;   // complete when next() has returned false
  int64_t length() const;              // ns that the operations should take; they take about as long
  double runs() const;                 // so many times the load's own length
  // Returns the tree before the first operation. Complete when next() has returned false.
  LiveState before() const;
  // Returns the header of a trace of these operations.
  TraceHeader header() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Writes the operations as a trace into `fd`, an empty file, which is taken over. Returns their counts. Times are stretched or
// shortened, so that the last operation ends when it should.
ModelCounts write_model_trace(const LoadModel& model, const ModelOptions& options, int fd);

}  // namespace fsr
