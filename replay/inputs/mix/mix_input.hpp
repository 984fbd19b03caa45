// SPDX-License-Identifier: Apache-2.0
// Runs a mixfile, or a published mix by name ("mix:sfs97-v3"): makes a working set and generates calls on it.
#pragma once

#include <optional>
#include <vector>

#include "inputs/input_kind.hpp"
#include "inputs/mix/curve.hpp"
#include "inputs/mix/mix_options.hpp"
#include "inputs/mix/mix_run.hpp"
#include "mix/mix.hpp"
#include "util/output_file.hpp"
#include "workloads/mix_result.hpp"
#include "workloads/steering.hpp"
#include "workloads/synthesizer.hpp"

namespace fsr {

class MixInput final : public Input, public GeneratedLoad {
 public:
  // Throws std::runtime_error, one line, if the options don't fit the mix.
  MixInput(Mix mix, const MixOptions& options);

  const TraceHeader& header() const override { return header_; }
  GeneratedLoad* generated() override { return this; }
  std::string settings() const override;
  OwnNames own_names() const override { return is_working_name; }
  void open_outputs() override;
  void finish_outputs(const Report& report) override;
  size_t rounds() const override;
  void restart(double factor, const RunLength& least) override;
  LoadUnit load_unit() const override;
  bool next_round() override;
  Image image(const Target& target, const ImageOptions& options, const ShowProgress& progress) override;
  bool check_files(Target& target, Clock& clock, const GoOn& go_on) override;
  void describe(Report& report) override;
  std::string outlook() const override;
  // If the target is a mounted NFS whose client caches, the load and the number of calls count requests on the wire.
  void rehearse(Target& target, Clock& clock, const RunOptions& options) override;
  // Costs that the first of several ranks has measured in rehearse(), for the others. `part`: share of this rank's
  // calls in the requests that the target counts, which are those of all ranks on its host.
  std::string save_costs() const;  // empty: there are none
  void take_costs(std::string_view saved, double part);
  OpSource* operations(RunOptions& options) override;
  RunResult run(Target& target, Clock& clock, const RunOptions& options) override;
  std::unique_ptr<OpSource> closing() override;
  void take_share(unsigned rank, unsigned ranks, bool force) override;
  bool ids_differ() const override { return true; }
  std::string part() const override;
  void add_part(std::string_view saved, bool same_wire) override;
  std::string end_round(const Report& report) override;

  const MixResult& result() const { return result_; }                           // after the run
  std::string path_of(ObjectId object) const { return set_->path_of(object); }  // of the image; empty: not part of it

 private:
  uint64_t planned_calls() const;  // of this rank and round; 0: limited by time only
  void make_source(uint64_t calls);
  ProcedureCounts own_requests() const;
  void note_impossible();
  void steer();
  MixResult result_of(const RunResult& run) const;
  std::vector<Dealt> dealt_by_all() const;
  ProcedureCounts requests_of_all() const;

  const Mix mix_;
  MixOptions options_;
  TraceHeader header_;  // empty, because there is no trace
  std::shared_ptr<const SizeModel> sizes_;
  std::shared_ptr<std::vector<CurvePoint>> curve_ = std::make_shared<std::vector<CurvePoint>>();
  std::unique_ptr<OutputFile> drawing_;
  double load() const { return options_.loads[round_ - 1] * factor_; }  // calls per second of this rank
  const std::vector<Dealt>& dealt() const { return run_ ? run_->dealt() : source_->dealt(); }

  const bool length_given_;
  unsigned neighbours_ = 1;       // streams of a shared directory, at most
  unsigned own_directories_ = 0;  // shared directories of this rank
  size_t round_ = 0;              // number of the current round, from 1
  double factor_ = 1;             // of a search for the highest load
  // State of the current round.
  const Target* target_ = nullptr;
  MixPlan plan_;
  std::unique_ptr<WorkingSet> set_;
  std::unique_ptr<Synthesizer> source_;       // for runs at a given load
  std::optional<Steering> steering_;          // present if the target's client caches
  std::vector<std::string> rehearsal_notes_;  // notes of the rehearsal for the report
  std::string links_kept_;                    // reason why the client keeps the text of symlinks
  double part_ = 1;                           // share of this rank in the requests that the target counts
  std::unique_ptr<MixRun> run_;               // for runs as fast as possible
  uint64_t calls_ = 0;                        // number of calls to issue; 0: limited by time only
  int64_t span_ = 0;                          // duration, ns; 0: limited by the number of calls only
  ProcedureCounts requests_before_;
  std::optional<ProcedureCounts> requests_after_;  // set when the round has run
  MixResult result_;
  // Share of this rank in the load, and the counts that the other ranks have reported.
  double share_ = 1;
  unsigned rank_ = 0;
  std::vector<Dealt> others_dealt_;
  ProcedureCounts others_requests_;
  uint64_t others_calls_ = 0;
};

std::unique_ptr<InputKind> mix_kind(InputOptions& options);

}  // namespace fsr
