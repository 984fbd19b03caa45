// SPDX-License-Identifier: Apache-2.0
// A mixfile, or a published mix by name ("mix:sfs97-v3"): a working set, and calls synthesized on it.
#pragma once

#include "inputs/input.hpp"
#include "mix/mix.hpp"
#include "workloads/mix_result.hpp"
#include "workloads/synthesizer.hpp"

namespace fsr {

class MixInput final : public Input {
 public:
  // Throws std::runtime_error, one line.
  MixInput(Mix mix, const WorkloadOptions& options);

  const TraceHeader& header() const override { return header_; }
  OwnNames own_names() const override { return is_working_name; }
  bool next_round() override;
  Image image(const Target& target, const ImageOptions& options, const ShowProgress& progress) override;
  OpSource& operations(const ImageOptions& image, RunOptions& options) override;
  std::unique_ptr<OpSource> closing() override;
  void describe(Report& report) const override;

 private:
  const Mix mix_;
  WorkloadOptions options_;
  TraceHeader header_;  // of no trace: empty
  std::shared_ptr<const SizeModel> sizes_;
  size_t rounds_ = 0;  // begun
  // Of the round at hand.
  const Target* target_ = nullptr;
  MixPlan plan_;
  std::unique_ptr<WorkingSet> set_;
  std::unique_ptr<Synthesizer> source_;
  ProcedureCounts requests_before_;
};

extern const InputPlugin mix_plugin;

}  // namespace fsr
