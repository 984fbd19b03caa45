// SPDX-License-Identifier: Apache-2.0
#include "inputs/trace/trace_input.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/target.hpp"
#include "base/until_stopped.hpp"
#include "engine/knock_on_tracker.hpp"
#include "engine/run.hpp"
#include "inputs/trace/trace_section.hpp"
#include "plan/clones.hpp"
#include "plan/image_tree.hpp"
#include "plan/name_views.hpp"
#include "plan/split_source.hpp"
#include "report/report.hpp"
#include "trace/bytes.hpp"
#include "trace/live_state.hpp"
#include "trace/name_history.hpp"
#include "trace/paths.hpp"
#include "trace/reader.hpp"
#include "trace/series.hpp"
#include "trace/unseen_names.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

Timing timing_of(const std::string& name) {
  return name == "original" ? Timing::original : name == "think" ? Timing::think : Timing::asap;
}

Order order_of(const std::string& name) {
  return name == "resource" ? Order::resource : name == "time" ? Order::time : Order::strict;
}

CloneNumbers parse_clones(const std::string& text) {
  constexpr unsigned kMost = 100'000;
  unsigned clones = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), clones);
  if (error != std::errc() || end != text.data() + text.size() || clones < 1 || clones > kMost)
    throw std::invalid_argument(fmt::format("expected a whole number from 1 to {}; fractions are for --scale", kMost));
  return {.all = clones};
}

class TraceInput final : public Input {
 public:
  TraceInput(int fd, const std::string& name, const TraceOptions& options)  // reads from a pipe
      : name_(name), options_(options), trace_(fd, name) {
    begin();
  }
  TraceInput(const std::vector<std::string>& pieces, const std::string& name, const TraceOptions& options)
      : name_(name), options_(options), trace_(pieces, names_series(name)) {
    begin();
  }

  const TraceHeader& header() const override { return trace_.header(); }

  std::string settings() const override {
    return fmt::format("--timing {} --order {} --scale {}x --clones {}", options_.timing, options_.order, options_.scale,
                       options_.clones.all);
  }

  void restart(double factor, const RunLength&) override {
    factor_ = factor;
    begun_ = false;
  }

  LoadUnit load_unit() const override {
    if (options_.timing != "original") throw std::runtime_error("--find-scale: needs --timing original");
    return {options_.scale, "times the captured load"};
  }

  bool next_round() override { return !std::exchange(begun_, true); }

  Image image(const Target& target, const ImageOptions& options, const ShowProgress& progress) override {
    if (ranks_ > 1 && target.places_files())
      throw std::runtime_error(target.name() + ": has no file names, so several ranks can't share this target; use one rank");
    if (splits() && target.name() == "memory:")
      throw std::runtime_error(
          "memory: ranks can't share this target, which exists in one process; use another target or one rank");
    ImageOptions wanted = options;
    wanted.from = options_.from;
    wanted.to = options_.to;
    wanted.clones = options_.clones;
    wanted.content = header().content != "none";
    try {
      std::optional<SplitSurvey> survey;
      if (splits()) survey.emplace(options.memory);
      UntilStopped going_on(trace_);
      Image made = Image::analyze(
          going_on, before_range(), wanted, [&](int64_t) { progress(trace_.position_bytes(), trace_.file_bytes()); },
          survey ? &*survey : nullptr);
      summary_ = made.summary();
      if (summary_.operations == 0) throw std::runtime_error(name_ + ": no operations in the range to replay");
      if (survey) split(*survey, made);
      target_ = &target;
      counted_ = {.operations = summary_.operations * options_.clones.count(),
                  .streams = summary_.streams * options_.clones.count()};
      if (split_) counted_ = {.operations = split_->shares[rank_].operations, .streams = split_->shares[rank_].streams};
      return made;
    } catch (const std::length_error& e) {
      throw std::runtime_error(name_ + ": " + e.what());
    }
  }

  OpSource* operations(RunOptions& run) override {
    names_.reset();
    if (keep_names_) names_ = std::make_unique<NameHistory>(kMostNames);
    OpSource& whole = source(run, options_.clones);
    if (!split_) return &whole;
    const SplitTimes times{.from = run.from, .to = run.to, .scale = run.timing == Timing::original ? run.scale : 0};
    run.knock_on = &knock_on_.emplace();
    run.noted = &split_->noted;
    own_ = std::make_unique<SplitSource>(whole, *split_, rank_, *run.known, times, [this](const Op& op) {
      if (leads_out(op) || target_->fidelity(op) == Fidelity::impossible) knock_on_->not_done_elsewhere(op);
    });
    return own_.get();
  }

  OpSource* survey(RunOptions& run) override {
    names_.reset();
    return &source(run, {});
  }

  void keep_names() override { keep_names_ = true; }

  void find_paths(DescribedOps& wanted) override {
    const unsigned clones = options_.clones.all;
    if (wanted.empty()) return;
    if (!names_ || names_->operations() < wanted.rbegin()->first / clones + 1) return read_paths(wanted);
    before().each_name(
        [&](ObjectId parent, std::string_view name, ObjectId object, uint32_t) { names_->begin_with(parent, name, object); });
    for (auto& [seq, described] : wanted) {
      const Op& op = described.op;
      described.path = names_->of(
          {.seq = seq / clones, .kind = op.kind, .object = op.object / clones, .parent = op.parent / clones, .name = op.name});
    }
  }

  LiveState before() override { return options_.clones.all == 1 ? before_range() : LiveState(); }

  void describe(Report& report) override {
    report.whole = counted_.operations;
    report.streams = counted_.streams;
    report.recorded_span = summary_.last - options_.from;
    report.span = options_.timing == "original" ? int64_t(double(report.recorded_span) / scale()) : 0;
    auto section = std::make_shared<TraceSection>();
    section->id = header().id;
    section->host = header().host;
    section->complete = complete();
    section->damage = trace_.damage();
    section->timing = timing_of(options_.timing);
    section->order = order_of(options_.order);
    section->scale = scale();
    section->clones = options_.clones.all;
    section->split = split_;
    section->add_run(report.result);
    if (!header().filter.empty()) section->warnings = {what_was_filtered()};
    const TraceClosing* closing = trace_.closing();
    if (const std::string names = unseen_names(header(), closing); !names.empty())
      section->warnings.push_back("the capture did not see " + names + "; operations that need them fail or differ");
    section->learnt = counted_.learnt + (own_ ? own_->learnt() : 0);
    report.sections = {section};
  }

  // Deals clones to the ranks in turn. A single clone is split by threads.
  void take_share(unsigned rank, unsigned ranks, bool force) override {
    rank_ = rank;
    ranks_ = ranks;
    force_ = force;
    const unsigned all = options_.clones.all;
    if (splits()) return;
    if (all < ranks) throw std::runtime_error(fmt::format("--clones {}: expected at least one for each of {} ranks", all, ranks));
    options_.clones = {.all = all, .first = rank, .step = ranks};
  }

  bool shares_tree() const override { return splits(); }

  std::function<bool(HandleId)> opens() const override {
    if (!split_) return {};
    return [this](HandleId handle) { return split_->rank_of_open(handle) == rank_; };
  }

  std::string part() const override {
    ByteWriter out;
    out.varint(counted_.operations);
    out.varint(counted_.streams);
    out.varint(own_ ? own_->learnt() : 0);
    return std::string(out.view());
  }

  void add_part(std::string_view saved, bool) override {
    ByteReader in(saved);
    counted_.operations += in.varint();
    counted_.streams += in.varint();
    counted_.learnt += in.varint();
    if (!in.ok() || in.left() != 0) throw std::runtime_error("damaged counts of a trace from another rank");
  }

  std::string identity() const override { return fmt::format("trace {} of {} bytes", header().id, trace_.file_bytes()); }

  std::string warning() const override {
    const TraceClosing* closing = trace_.closing();
    if (complete() && trace_.damage().empty()) return "";
    const std::string why = !closing           ? "truncated: the closing statement is missing"
                            : closing->dropped ? format_count(closing->dropped) + " operations were dropped by the recorder"
                            : !closing->clean  ? "the recording failed: " + closing->reason
                                               : trace_.damage().front().what;
    return fmt::format("{}: incomplete trace ({}); replaying the {} operations that can be read, until {}", name_, why,
                       format_count(summary_.operations), format_duration(summary_.last_end));
  }

  std::string outlook() const override {
    return fmt::format("{} operations of {} streams, recorded in {}", format_count(counted_.operations),
                       format_count(counted_.streams), format_duration(summary_.last_end - summary_.first));
  }

 private:
  double scale() const { return options_.scale * factor_; }
  bool splits() const { return ranks_ > 1 && options_.clones.all == 1; }

  void split(SplitSurvey& survey, Image& image) {
    TraceSplit made = survey.deal(ranks_, image.impl().tree);
    constexpr double kMostCut = 0.25;
    if (made.cut_part() > kMostCut && !force_)
      throw std::runtime_error(
          fmt::format("{}: split over {} ranks, {:.0f} % of the waits between operations would be lost, more than {:.0f} % "
                      "(first: {}); use fewer ranks or --clones, or give --force",
                      name_, ranks_, made.cut_part() * 100, kMostCut * 100, made.first_cut.front()));
    split_ = std::make_shared<const TraceSplit>(std::move(made));
  }

  // If the pieces before are missing, a trace begins where they ended, with the state in its checkpoint.
  void begin() { options_.from = std::max(options_.from, trace_.begin_time()); }

  // Loads a state even from the beginning, because a trace that was cut out of another one starts with the state at the cut.
  LiveState before_range() {
    LiveState state;
    trace_.load_state(options_.from > 0 ? options_.from : INT64_MIN, state);
    return state;
  }

  OpSource& source(RunOptions& run, CloneNumbers clones) {
    run.timing = timing_of(options_.timing);
    run.order = order_of(options_.order);
    run.clients_by = clients_by_of(options_.clients_by);
    run.scale = scale();
    run.durations = summary_.timed;
    run.from = options_.from;
    run.to = options_.to;
    trace_.seek_op(0);
    if (options_.from > 0) trace_.seek_time(options_.from);
    if (clones.all == 1) return named_;
    clones_ = std::make_unique<CloneSource>(named_, clones);
    return *clones_;
  }

  // Does what find_paths() does, by reading the trace once more.
  void read_paths(DescribedOps& wanted) {
    names_.reset();
    Paths paths;
    before().each_name(
        [&](ObjectId parent, std::string_view name, ObjectId object, uint32_t) { paths.learn(parent, name, object); });
    const unsigned clones = options_.clones.all;
    RunOptions range;
    OpSource& all = source(range, {});
    OpBatch batch;
    for (auto next = wanted.begin(); next != wanted.end() && all.next(batch);)
      for (const Op& op : batch.ops) {
        if (op.kind != OpKind::rename) paths.apply(op);
        for (; next != wanted.end() && next->first / clones <= op.seq; ++next)
          if (next->first / clones == op.seq) next->second.path = paths.of(op);
        if (op.kind == OpKind::rename) paths.apply(op);
      }
  }

  bool complete() const {
    const TraceClosing* closing = trace_.closing();
    return closing && closing->clean && closing->dropped == 0;
  }

  std::string what_was_filtered() const {
    const TraceClosing* closing = trace_.closing();
    uint64_t left_out = 0;
    if (closing)
      for (uint64_t n : closing->filtered) left_out += n;
    return fmt::format("the capture was filtered ({}): {} operations are not in the trace", escape_text(header().filter),
                       closing ? format_count(left_out) : "an unknown number of");
  }

  // The operations of the trace. Learns the names in them, if they are kept.
  class NamedSource final : public OpSource {
   public:
    explicit NamedSource(TraceInput& input) : input_(input) {}
    bool next(OpBatch& batch) override {
      if (!input_.trace_.next(batch)) return false;
      if (input_.names_)
        for (const Op& op : batch.ops) input_.names_->apply(op);
      return true;
    }

   private:
    TraceInput& input_;
  };
  static constexpr size_t kMostNames = 100 << 20;  // bytes kept during a run

  const std::string name_;
  TraceOptions options_;
  TraceReader trace_;
  NamedSource named_{*this};
  std::unique_ptr<NameHistory> names_;  // null: none are kept
  bool keep_names_ = false;
  ImageSummary summary_;
  std::unique_ptr<CloneSource> clones_;
  // Share of this rank in a run on several ranks.
  unsigned rank_ = 0, ranks_ = 1;
  bool force_ = false;
  std::shared_ptr<const TraceSplit> split_;  // null: one process, or several clones
  std::unique_ptr<SplitSource> own_;
  const Target* target_ = nullptr;
  std::optional<KnockOnTracker> knock_on_;  // of the current run; also has the operations that other ranks leave out
  // Counts for the report: of this rank, and after add_part() also of the other ranks.
  struct {
    uint64_t operations = 0, streams = 0;
    uint64_t learnt = 0;  // objects that the other ranks looked up
  } counted_;
  double factor_ = 1;  // of a search for the highest load
  bool begun_ = false;
};

class TraceKind final : public InputKind {
 public:
  explicit TraceKind(InputOptions& options) : options_(options.trace) {}
  const char* noun() const override { return "a trace"; }
  const char* plural() const override { return "traces"; }

  void declare(Command& group) override {
    group.add("--timing", options_.timing, "start as original, think, asap (default original)")
        .stands_for("HOW")
        .one_of({"original", "think", "asap"});
    group.add("--order", options_.order, "order by resource, time, strict (default resource)")
        .stands_for("ORDER")
        .one_of({"resource", "time", "strict"});
    group.add_with("--scale", options_.scale, parse_factor, "multiply the recorded load: 4x, 0.5x").stands_for("FACTOR");
    group.add_with("--clones", options_.clones, parse_clones, "replay N clients, each in its own tree").stands_for("N");
    group.add("--clients-by", options_.clients_by, "deal a target's clients by stream, process, user")
        .stands_for("WHAT")
        .one_of({"stream", "process", "user"});
    group.add_with("--from", options_.from, parse_duration, "start at this recorded time: 90s, 5m").stands_for("TIME");
    group.add_with("--to", options_.to, parse_duration, "end at this recorded time").stands_for("TIME");
  }

  bool accepts(const std::string&, std::string_view first) const override { return looks_like_trace(first); }

  std::unique_ptr<Input> open(const std::string& name, int fd, int64_t) const override {
    if (options_.to <= options_.from)
      throw std::runtime_error(fmt::format("--to {}: expected a time later than --from {}", format_duration(options_.to),
                                           format_duration(options_.from)));
    struct stat st;
    if (name == "-") return std::make_unique<TraceInput>(fd, "standard input", options_);
    if (stat(name.c_str(), &st) == 0 && S_ISFIFO(st.st_mode)) return std::make_unique<TraceInput>(fd, name, options_);
    if (fd >= 0) close(fd);
    return std::make_unique<TraceInput>(series_files(name), name, options_);
  }

 private:
  TraceOptions& options_;
};

}  // namespace

ClientsBy clients_by_of(const std::string& name) {
  return name == "stream" ? ClientsBy::stream : name == "process" ? ClientsBy::process : ClientsBy::user;
}

std::unique_ptr<InputKind> trace_kind(InputOptions& options) { return std::make_unique<TraceKind>(options); }

std::unique_ptr<Input> trace_input(int fd, const std::string& name, const TraceOptions& options) {
  return std::make_unique<TraceInput>(fd, name, options);
}

}  // namespace fsr
