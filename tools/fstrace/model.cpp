// SPDX-License-Identifier: Apache-2.0
// fstrace model: learns a model from traces of one load, describes it, and compares runs of it with a trace.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "compare_result.hpp"
#include "model/learner.hpp"
#include "model/model_file.hpp"
#include "model/model_source.hpp"
#include "model/shipped_models.hpp"
#include "model_text.hpp"
#include "subcommand.hpp"
#include "trace/frame.hpp"
#include "trace/spool.hpp"
#include "trace_output.hpp"
#include "util/output_file.hpp"
#include "util/status_line.hpp"
#include "util/unique_fd.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

constexpr double kClearly = 0.75;                // of the excess of contexts, which courses may have
constexpr unsigned kSamples = 20;                // runs of a model that --check compares with a trace
constexpr unsigned kTrials = 4;                  // runs of each form of a model that are compared with each of its traces
constexpr uint64_t kMostCourseSteps = 100'000;   // operations of a run; courses of more don't fit into a mail
constexpr size_t kMostCourseBytes = 30'000;      // of a file with courses
constexpr size_t kPauses[] = {2000, 500, 100};   // long ones of a run; courses keep the most with which the file is not larger
constexpr double kAllowed = 1.5, kSlack = 0.02;  // a distance is good up to kAllowed times that between traces, and kSlack

struct ModelCommandOptions {
  std::vector<std::string> files;
  std::string output, check;
  bool force = false, keep_commands = false, show = false;
};

using Distances = std::array<double, kAspects>;

// Threads have other numbers in the second trace, so that operations of two runs are not taken for pairs by accident.
Distances distances(TraceReader& first, TraceReader& second) {
  constexpr ThreadId kOthers = ThreadId(1) << 31;
  Profile a, b;
  Pairing pairing(false);
  a.begin(first, "");
  b.begin(second, "");
  read_both(first, a, second, b, pairing, kOthers, nullptr);
  return compare_profiles(a, b, pairing).distances;
}

std::map<std::string, double> between(const std::vector<std::string>& files) {
  std::map<std::string, double> mean;
  const double pairs = double(files.size() * (files.size() - 1)) / 2;
  for (size_t i = 0; i < files.size(); ++i)
    for (size_t k = i + 1; k < files.size(); ++k) {
      const Distances d = distances(*open_trace(files[i]), *open_trace(files[k]));
      for (size_t aspect = 0; aspect < kAspects; ++aspect)
        if (Aspect(aspect) != Aspect::names) mean[aspect_entry(Aspect(aspect)).name] += d[aspect] / pairs;
    }
  return mean;
}

// A run of the model, as a trace in a temporary file.
class SampleRun {
 public:
  SampleRun(const LoadModel& model, unsigned seed) : file_(unnamed_file()) { write_model_trace(model, {.seed = seed}, copy()); }

  // Returns the distances between the run and a trace. A model has no names, so the names at the end are not compared.
  Distances distances_to(const std::string& trace) const {
    TraceReader sample(copy(), "run of the model");
    Distances d = distances(*open_trace(trace), sample);
    d[size_t(Aspect::names)] = 0;
    return d;
  }

 private:
  int copy() const {
    const int fd = dup(file_.get());
    if (fd < 0) throw std::runtime_error(std::string("a run of the model: ") + strerror(errno));
    return fd;
  }
  UniqueFd file_;
};

// Returns by how much runs of the model are farther from the traces than they may be, on average. `enough`: of more than that,
// only that it is more.
double excess(const LoadModel& model, const std::vector<std::string>& traces, double enough) {
  const double all = double(traces.size() * kTrials);
  double sum = 0;
  StatusLine line(false);
  for (unsigned seed = 1; seed <= kTrials && sum <= enough * all; ++seed) {
    const SampleRun run(model, seed);
    for (size_t i = 0; i < traces.size() && sum <= enough * all; ++i) {
      line.bar("trying", (seed - 1) * traces.size() + i, uint64_t(all));
      const Distances d = run.distances_to(traces[i]);
      for (size_t k = 0; k < kAspects; ++k)
        if (auto own = model.between_runs.find(aspect_entry(Aspect(k)).name); own != model.between_runs.end())
          sum += std::max(0.0, d[k] - kAllowed * own->second - kSlack);
    }
  }
  line.clear();
  return sum / all;
}

int check(const LoadModel& model, const std::string& trace) {
  Distances sum{}, most{};
  StatusLine line(false);
  for (unsigned seed = 1; seed <= kSamples; ++seed) {
    line.bar("running", seed - 1, kSamples);
    const Distances d = SampleRun(model, seed).distances_to(trace);
    for (size_t i = 0; i < kAspects; ++i) {
      sum[i] += d[i] / kSamples;
      most[i] = std::max(most[i], d[i]);
    }
  }
  line.clear();
  fmt::print("{:<12} {:>9} {:>9}", "distance", "model", "largest");
  if (!model.between_runs.empty()) fmt::print(" {:>13}", "between runs");
  fmt::print("\n");
  for (size_t i = 0; i < kAspects; ++i) {
    if (Aspect(i) == Aspect::names) continue;
    const char* name = aspect_entry(Aspect(i)).name;
    fmt::print("{:<12} {:>9.3f} {:>9.3f}", name, sum[i], most[i]);
    if (auto own = model.between_runs.find(name); own != model.between_runs.end()) fmt::print(" {:>13.3f}", own->second);
    fmt::print("\n");
  }
  return 0;
}

// Throws if a trace is given twice, under whatever names.
void refuse_copies(const std::vector<std::string>& files, const std::vector<std::unique_ptr<TraceReader>>& traces) {
  for (size_t i = 0; i < traces.size(); ++i)
    for (size_t k = i + 1; k < traces.size(); ++k)
      if (traces[i]->header().id == traces[k]->header().id && traces[i]->file_bytes() == traces[k]->file_bytes())
        throw std::runtime_error(files[k] + ": given twice, as " + files[i] +
                                 "; a model learns from different traces of one load");
}

// `status`: becomes 1 if a trace is damaged, which is then reported; null: it was reported before.
LoadModel learn_model(const ModelCommandOptions& options, ModelForm form, size_t pauses, int* status) {
  ModelLearner learner(options.keep_commands, form, pauses);
  StatusLine line(false);
  std::vector<std::unique_ptr<TraceReader>> traces;
  for (const std::string& file : options.files) traces.push_back(open_trace(file));
  refuse_copies(options.files, traces);
  for (bool survey : {true, false})
    for (size_t i = 0; i < traces.size(); ++i) {
      TraceReader& reader = *traces[i];
      reader.seek_op(0);
      OpBatch batch;
      while (reader.next(batch)) {
        for (const Op& op : batch.ops) survey ? learner.survey(op) : learner.add(op);
        line.bar(survey ? "surveying" : "learning", reader.position_bytes(), reader.file_bytes());
      }
      line.clear();
      if (!survey && status) *status = std::max(*status, report_damage(options.files[i], reader));
      learner.end_trace();
    }
  LoadModel model = learner.finish();
  model.clock_unit = kMaxClockUnit;
  for (const auto& trace : traces) model.clock_unit = std::min(model.clock_unit, trace->header().clock_unit);
  return model;
}

// Learns the form whose runs are nearer to the traces. Contexts differ with the seed and tell less of one trace, so that courses
// have to be clearly nearer. One trace does not tell whether the load goes the same way each time, and has contexts.
LoadModel learn_model(const ModelCommandOptions& options, int* status) {
  LoadModel model = learn_model(options, ModelForm::contexts, 0, status);
  if (options.files.size() == 1) return model;
  model.between_runs = between(options.files);
  if (model.operations > kMostCourseSteps) return model;
  for (const size_t pauses : kPauses) {
    LoadModel courses;
    try {
      courses = learn_model(options, ModelForm::courses, pauses, nullptr);
    } catch (const UnfitLoad&) {
      break;  // its contexts were learned
    }
    courses.between_runs = model.between_runs;
    if (model_bytes(courses).size() > kMostCourseBytes) continue;
    // Courses are near to the trace that has them, which is one of `n`, whatever the load does.
    const auto n = double(options.files.size());
    const double most = excess(courses, options.files, INFINITY) * n / (n - 1) / kClearly;
    return most < excess(model, options.files, most) ? courses : model;
  }
  return model;
}

// Makes up the begin of a run, and tells what of it can't be made up. Throws std::runtime_error if that is all.
void check_run(const LoadModel& model, const std::string& name) {
  constexpr uint64_t kEnough = 1'000'000;  // steps
  ModelSource source(model, {});
  const ModelCounts& counts = source.counts();
  OpBatch batch;
  while (counts.operations + counts.left_out < kEnough && source.next(batch)) {
  }
  if (!counts.operations) throw std::runtime_error("no operation of this load can be made up: " + left_out_text(counts));
  if (counts.left_out_share() > kMostLeftOut)
    fmt::print(stderr, "fstrace: {}: a run leaves out {:.0f} % of the steps, which can't be made up: {}\n", name,
               counts.left_out_share() * 100, left_out_text(counts));
}

int run(const ModelCommandOptions& options) {
  std::optional<LoadModel> known = model_by_name(options.files.front());
  const bool given = known.has_value();
  if (given && (options.files.size() > 1 || !options.output.empty()))
    throw std::runtime_error(options.files.front() +
                             ": is a model already; give traces to make one, or one model with --show "
                             "or --check");
  if (!given && options.output.empty())
    throw std::runtime_error("model: expected --output FILE for the model of these traces, or a model instead of traces");
  int status = 0;
  std::optional<OutputFile> output;
  if (!given) output.emplace(options.output, options.force, Readers::by_umask);
  const LoadModel model = given ? std::move(*known) : learn_model(options, &status);
  if (output) {
    check_run(model, options.output);
    const std::string bytes = model_bytes(model);
    output->finish(bytes);
    fmt::print("{}: {} of {} operations, {}\n", options.output, format_size(bytes.size()), format_count(model.operations),
               content_text(model));
    if (model.dropped)
      fmt::print(stderr, "fstrace: {}: {} operations left out, because they are rare or can't be made up\n", options.output,
                 format_count(model.dropped));
  }
  if (options.show)
    fmt::print("{}\n", model_json(model));
  else if (given && options.check.empty())
    fmt::print("{}", model_text(model));
  if (!options.check.empty()) status = std::max(status, check(model, options.check));
  return status;
}

}  // namespace

Run add_model(Command& command) {
  auto options = std::make_shared<ModelCommandOptions>();
  command.add("FILE", options->files, "traces of one load, or one model").required();
  command.add("-o,--output", options->output, "write the model of the traces into this file").stands_for("MODEL");
  command.flag("--force", options->force, "replace an existing file");
  command.flag("--keep-commands", options->keep_commands, "keep the commands of processes, which are numbered otherwise");
  command.flag("--show", options->show, "print everything that is in the model, as JSON");
  command.add("--check", options->check, "print distances of 20 runs of the model to this trace").stands_for("TRACE");
  return [options] { return run(*options); };
}

}  // namespace fsr::fstrace
