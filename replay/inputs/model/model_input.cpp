// SPDX-License-Identifier: Apache-2.0
#include "inputs/model/model_input.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "inputs/model/model_section.hpp"
#include "inputs/trace/trace_input.hpp"
#include "model/model_file.hpp"
#include "model/model_source.hpp"
#include "model/shipped_models.hpp"
#include "report/report.hpp"
#include "trace/spool.hpp"
#include "util/unique_fd.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

class ModelInput final : public Input {
 public:
  ModelInput(LoadModel model, const std::string& name, const InputOptions& options, int64_t duration)
      : name_(name), model_(std::move(model)), options_(options), duration_(duration) {
    if (options_.mix.loads.size() > 1)
      throw std::runtime_error("--load: expected one load for a model; --find-scale looks for the highest one");
    if (!options_.mix.loads.empty()) {
      if (options_.trace.scale != 1) throw std::runtime_error("--load and --scale: a model takes one of them; leave one out");
      options_.trace.scale = options_.mix.loads[0] / rate();
    }
    constexpr double kMostRuns = 100'000;
    if (options_.scale_by == ScaleBy::processes && options_.trace.scale > kMostRuns)
      throw std::runtime_error(
          fmt::format("{}: {:g} times the load asked for, but at most {:g} are possible", name, options_.trace.scale, kMostRuns));
    make();
  }

  const TraceHeader& header() const override { return trace_->header(); }
  std::string settings() const override {
    return fmt::format("{} --seed {} --scale {}x --scale-by {}", trace_->settings(), options_.mix.seed, options_.trace.scale,
                       by_processes() ? "processes" : "think");
  }

  void restart(double factor, const RunLength& least) override {
    factor_ = factor;
    if (least.operations)
      least_ = std::max(least.time, int64_t(double(least.operations) / (rate() * options_.trace.scale * factor) * 1e9));
    trace_.reset();
  }

  LoadUnit load_unit() const override {
    if (options_.trace.timing != "original") throw std::runtime_error("--find-scale: needs --timing original");
    return {options_.trace.scale, "times the load of the model"};
  }

  bool next_round() override {
    if (!trace_) make();
    return trace_->next_round();
  }

  Image image(const Target& target, const ImageOptions& options, const ShowProgress& progress) override {
    return trace_->image(target, options, progress);
  }
  OpSource* operations(RunOptions& run) override { return trace_->operations(run); }
  OpSource* survey(RunOptions& run) override { return trace_->survey(run); }
  void keep_names() override { trace_->keep_names(); }
  void find_paths(DescribedOps& wanted) override { trace_->find_paths(wanted); }
  LiveState before() override { return trace_->before(); }
  std::string identity() const override { return trace_->identity(); }
  std::string outlook() const override { return trace_->outlook() + " by a model"; }

  void describe(Report& report) override {
    trace_->describe(report);
    auto section = std::make_shared<ModelSection>();
    section->counts = counts_;
    section->seed = options_.mix.seed;
    section->load = runs_at_once();
    report.sections.push_back(section);
  }

  void take_share(unsigned rank, unsigned ranks, bool force) override {
    share_ = {rank, ranks, force};
    trace_->take_share(rank, ranks, force);
  }
  bool shares_tree() const override { return trace_->shares_tree(); }
  std::function<bool(HandleId)> opens() const override { return trace_->opens(); }
  std::string part() const override { return trace_->part(); }
  void add_part(std::string_view saved, bool same_wire) override { trace_->add_part(saved, same_wire); }

 private:
  double rate() const { return double(model_.operations) / (double(std::max<int64_t>(1, model_.span)) / 1e9); }
  bool by_processes() const { return options_.scale_by == ScaleBy::processes; }
  double runs_at_once() const { return by_processes() ? options_.trace.scale * factor_ : 1; }

  // All ranks make the same operations, and each replays its share of them.
  void make() {
    TraceOptions replay = options_.trace;
    const double speed = by_processes() ? 1 : options_.trace.scale * factor_;
    replay.scale = speed;
    int64_t duration = duration_;
    if (!duration && least_ > double(model_.span) / speed) duration = least_;
    const ModelOptions made{.seed = options_.mix.seed, .load = runs_at_once(), .duration = int64_t(double(duration) * speed)};
    UniqueFd file(unnamed_file());
    const int written = dup(file.get());
    if (written < 0) throw std::runtime_error(name_ + ": too many open files");
    counts_ = write_model_trace(model_, made, written);
    if (counts_.operations == 0 && made.duration == 0) throw std::runtime_error(name_ + ": no operation of it can be made up");
    if (counts_.operations == 0)
      throw std::runtime_error(name_ + ": no operation within " + format_duration(made.duration) + "; use a longer --duration");
    trace_ = trace_input(file.release(), name_, replay);
    if (share_.ranks > 1) trace_->take_share(share_.rank, share_.ranks, share_.force);
  }

  const std::string name_;
  const LoadModel model_;
  InputOptions options_;
  const int64_t duration_;  // ns; 0: one run of the load
  int64_t least_ = 0;       // ns that a search for the highest load needs
  double factor_ = 1;       // of such a search
  ModelCounts counts_;
  std::unique_ptr<Input> trace_;
  struct {
    unsigned rank = 0, ranks = 1;
    bool force = false;
  } share_;
};

class ModelKind final : public InputKind {
 public:
  explicit ModelKind(InputOptions& options) : options_(options) {}
  const char* noun() const override { return "a model"; }
  const char* plural() const override { return "models"; }

  void declare(Command& group) override {
    group
        .add_parsed(
            "--scale-by",
            [this](const std::string& text) {
              if (text != "processes" && text != "think") throw std::invalid_argument("expected processes or think");
              options_.scale_by = text == "think" ? ScaleBy::think : ScaleBy::processes;
            },
            "scale by processes (default) or by think")
        .stands_for("WHAT")
        .often({"processes", "think"});
  }
  std::vector<std::string> shares() const override {
    return {"--timing", "--order", "--scale", "--clones", "--clients-by", "--load", "--seed"};
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names = shipped_models();
    for (std::string& name : names) name.insert(0, kShippedModel);
    return names;
  }

  bool accepts(const std::string& name, std::string_view first) const override {
    return looks_like_model(first) || (first.empty() && name.starts_with(kShippedModel));
  }

  std::unique_ptr<Input> open(const std::string& name, int fd, int64_t duration) const override {
    const UniqueFd file(fd);
    if (!file) return std::make_unique<ModelInput>(read_shipped_model(name), name, options_, duration);
    return std::make_unique<ModelInput>(read_model(fd, name == "-" ? "standard input" : name), name, options_, duration);
  }

 private:
  InputOptions& options_;
};

}  // namespace

std::unique_ptr<InputKind> model_kind(InputOptions& options) { return std::make_unique<ModelKind>(options); }

}  // namespace fsr
