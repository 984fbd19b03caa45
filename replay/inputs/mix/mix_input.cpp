// SPDX-License-Identifier: Apache-2.0
#include "inputs/mix/mix_input.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/target.hpp"
#include "engine/run.hpp"
#include "inputs/input_options.hpp"
#include "inputs/mix/mix_section.hpp"
#include "inputs/mix/stale_links.hpp"
#include "inputs/mix/test_directories.hpp"
#include "report/report.hpp"
#include "util/unique_fd.hpp"

namespace fsr {

namespace {

constexpr int64_t kUsualDuration = 60'000'000'000;  // ns; used without --calls and --duration
constexpr int64_t kLateSchedule = 100'000'000;      // ns by which the end of a schedule may be late in any case
constexpr double kMissed = 0.01;  // share of the schedule by which its end may be late, if that is more than kLateSchedule
constexpr uint64_t kSeedOfRank = 0x9e3779b97f4a7c15;  // odd, so that no two ranks have calls due at the same times
constexpr size_t kSteeredWindow = 64;  // calls generated ahead; few, because their shares follow from the calls sent before
constexpr ObjectId kIdsOfRound = ObjectId(1) << 32;  // distance between rounds, so that no id is used in two rounds

}  // namespace

MixInput::MixInput(Mix mix, const MixOptions& options)
    : mix_(std::move(mix)),
      options_(options),
      sizes_(size_model(!options.sizes.empty()  ? options.sizes
                        : mix_.nfs_version == 2 ? "nhfsstone"
                                                : "sfs")),
      length_given_(options.calls || options.duration) {
  if (!length_given_) options_.duration = kUsualDuration;
  if (!options.directories && options.streams > kMostOwnDirectories)
    throw std::runtime_error(
        fmt::format("--streams {}: expected at most {} with directories of their own; let them share some (--directories)",
                    options.streams, kMostOwnDirectories));
  if (options.directories > options.streams)
    throw std::runtime_error(
        fmt::format("--directories {}: expected at most one for each of {} streams", options.directories, options.streams));
  own_directories_ = options.directories;
  if (options.directories) neighbours_ = (options.streams + options.directories - 1) / options.directories;
}

std::string MixInput::settings() const {
  return fmt::format("--streams {}{} --seed {} --load {}", options_.streams,
                     options_.directories ? fmt::format(" --directories {}", options_.directories) : "", options_.seed,
                     options_.loads.empty() ? "max" : fmt::format("{:g}", options_.loads.front()));
}

void MixInput::open_outputs() {
  if (!options_.svg.empty()) drawing_ = std::make_unique<OutputFile>(options_.svg, true, Readers::by_umask);
}

void MixInput::finish_outputs(const Report& report) {
  if (drawing_) drawing_->finish(curve_svg(*curve_, report.input + " on " + report.target));
}

size_t MixInput::rounds() const { return std::max<size_t>(1, options_.loads.size()); }

void MixInput::restart(double factor, const RunLength& least) {
  factor_ = factor;
  round_ = 0;
  if (length_given_ || !least.operations) return;
  options_.duration = std::max(least.time, int64_t(double(least.operations) * share_ / (options_.loads.front() * factor) * 1e9));
}

LoadUnit MixInput::load_unit() const {
  if (options_.loads.size() != 1) throw std::runtime_error("--find-scale: expected a --load to start from");
  return {options_.loads[0] / share_, "calls/s"};
}

bool MixInput::next_round() { return round_++ < rounds(); }

Image MixInput::image(const Target& target, const ImageOptions&, const ShowProgress&) {
  if (target.places_files())
    throw std::runtime_error(target.name() + ": has no file names, but a mix needs file names; use another target");
  target_ = &target;
  plan_ = plan_mix(mix_, target, options_.directories != 0);
  if (options_.directories && plan_.past_cache)
    throw std::runtime_error(
        target.name() +
        ": streams can't share directories past a client's cache, which needs names that no other stream has "
        "used; leave --directories out, or use an nfs:// target");
  if (!options_.sizes.empty()) plan_.traits.reads = plan_.traits.writes = {};
  if (const std::string traits = traits_words(plan_.traits); !traits.empty()) plan_.notes.push_back("asked: " + traits);
  WorkingSetOptions wanted{.bytes = options_.working_set, .seed = options_.seed};
  wanted.numbers = options_.numbers;
  wanted.names = options_.names;
  wanted.directories = options_.directories;
  wanted.neighbours = neighbours_;
  if (options_.directories) wanted.openers = openers_for(target.number_of_clients(), own_directories_, neighbours_);
  for (unsigned n = 0; wanted.numbers.size() < options_.streams; ++n) wanted.numbers.push_back(n);
  wanted.first_id = round_ * kIdsOfRound;
  source_.reset();
  steering_.reset();
  rehearsal_notes_.clear();
  run_.reset();
  if (plan_.past_cache) wanted.links = links_to_read(plan_, planned_calls(), unsigned(wanted.numbers.size()));
  set_ = std::make_unique<WorkingSet>(wanted, plan_, *sizes_);
  return set_->image();
}

bool MixInput::check_files(Target& target, Clock& clock, const GoOn& go_on) {
  // Ids of the run follow those of the working set; here they come from far behind.
  return refuse_foreign_files(target, clock, set_->directories(), set_->next_object() + kIdsOfRound / 2, go_on);
}

uint64_t MixInput::planned_calls() const {
  // Number of calls that fit into the duration at this load. --calls may make it smaller.
  if (!options_.duration || options_.loads.empty()) return options_.calls;
  const auto fit = uint64_t(std::max(1.0, std::round(load() * double(options_.duration) / 1e9)));
  return options_.calls ? std::min(options_.calls, fit) : fit;
}

void MixInput::make_source(uint64_t calls) {
  source_ =
      std::make_unique<Synthesizer>(SynthesizerOptions{.arrival = options_.arrival,
                                                       .calls = calls,
                                                       .duration = std::max<int64_t>(1, int64_t(double(calls) / load() * 1e9)),
                                                       .seed = options_.seed + rank_ * kSeedOfRank},
                                    plan_, *set_, *sizes_);
}

OpSource* MixInput::operations(RunOptions& run) {
  requests_before_ = target_->requests();
  requests_after_.reset();
  others_dealt_.clear();
  others_requests_.clear();
  others_calls_ = 0;
  calls_ = planned_calls();
  run.duration = span_ = options_.duration;
  if (options_.loads.empty()) {
    run.timing = Timing::asap;
    run_ = std::make_unique<MixRun>(plan_, *set_, *sizes_, options_.seed, calls_);
    return nullptr;
  }
  // After this time, calls that were not issued are cancelled and counted. Otherwise a server that can't keep up would make the
  // run endless. The last calls are due at the very end, so the limit leaves some time for them.
  if (span_) run.duration += std::max(kLateSchedule, span_ / 50);
  run.timing = Timing::original;
  run.schedule = std::max<int64_t>(1, int64_t(double(calls_) / load() * 1e9));
  if (!source_) make_source(calls_);
  if (steering_) {
    steer();
    run.window_ops = kSteeredWindow;
  }
  return source_.get();
}

RunResult MixInput::run(Target& target, Clock& clock, const RunOptions& options) { return run_->run(target, clock, options); }

std::unique_ptr<OpSource> MixInput::closing() { return set_->closing(); }

MixResult MixInput::result_of(const RunResult& run) const {
  MixResult r;
  if (run.issued() != 0)
    r = mix_result(plan_, dealt_by_all(), run, requests_before_, requests_of_all());
  else
    r.notes = plan_.notes;
  r.dialect = mix_.dialect;
  r.notes.insert(r.notes.begin(), mix_.notes.begin(), mix_.notes.end());
  r.notes.insert(r.notes.end(), rehearsal_notes_.begin(), rehearsal_notes_.end());
  if (!options_.loads.empty()) {
    r.load = load() / share_;
    // Subtract a service time, because the run ends with the reply to its last call.
    const int64_t late = run.elapsed - run.planned - run.service.quantile(0.99);
    r.missed = late > std::max(kLateSchedule, int64_t(double(run.planned) * kMissed));
  }
  return r;
}

void MixInput::describe(Report& report) {
  if (report.result.issued() != 0 && !requests_after_) requests_after_ = target_->requests();
  result_ = result_of(report.result);
  report.expected = "expected";
  report.issued = "calls";
  report.planned = "that were planned";
  report.whole = calls_ + others_calls_;
  report.span = options_.loads.empty() ? options_.duration : int64_t(double(planned_calls()) / load() * 1e9);
  report.sections = {std::make_shared<MixSection>(result_, options_.seed, curve_)};
}

std::string MixInput::outlook() const {
  std::string text = "the calls of a mix";
  for (const std::string& note : result_.notes) text += "\nmix        " + note;
  return text;
}

std::string MixInput::end_round(const Report& report) {
  if (rounds() == 1 && !drawing_) return "";
  curve_->push_back(curve_point(report, result_));
  return curve_text(curve_->back(), curve_->size() == 1);
}

namespace {

constexpr std::string_view kByName = "mix:";

std::string contents(const std::string& name, int fd) {
  std::string text;
  char buffer[65536];
  for (ssize_t n; (n = pread(fd, buffer, sizeof buffer, off_t(text.size()))) != 0;) {
    if (n < 0) throw std::runtime_error(name + ": can't be read");
    text.append(buffer, size_t(n));
    if (text.size() > kMixFileMax) throw std::runtime_error(name + ": too large for a mixfile");
  }
  return text;
}

Mix mix_of(const std::string& name, int fd, const MixOptions& options) {
  if (name.starts_with(kByName)) {
    const Mix* mix = built_in_mix(std::string_view(name).substr(kByName.size()));
    if (!mix) throw std::runtime_error(name + ": no such mix; there are " + built_in_mix_names());
    return *mix;
  }
  const MixReadOptions read{.nfs_version = options.nfs_version, .compat = options.compat};
  if (!options.since.empty() && name != "-") return load_mix(name, read, options.since);
  const std::string text = contents(name, fd);
  return read_mix({text, name == "-" ? "standard input" : name}, read);
}

class MixKind final : public InputKind {
 public:
  explicit MixKind(InputOptions& options) : options_(options.mix) {}
  const char* noun() const override { return "a mix"; }
  const char* plural() const override { return "mixes"; }
  void declare(Command& group) override { declare_mix_options(group, options_); }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const std::string_view name : built_in_mixes()) names.push_back(std::string(kByName).append(name));
    return names;
  }

  bool accepts(const std::string& name, std::string_view first_bytes) const override {
    return name.starts_with(kByName) || may_be_mix(first_bytes);
  }

  std::unique_ptr<Input> open(const std::string& name, int fd, int64_t duration) const override {
    const UniqueFd file(fd);
    MixOptions options = options_;
    options.duration = duration;
    return std::make_unique<MixInput>(mix_of(name, fd, options), options);
  }

 private:
  MixOptions& options_;
};

}  // namespace

std::unique_ptr<InputKind> mix_kind(InputOptions& options) { return std::make_unique<MixKind>(options); }

}  // namespace fsr
