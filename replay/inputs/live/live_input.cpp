// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/live_input.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/target.hpp"
#include "engine/knock_on_tracker.hpp"
#include "engine/limit.hpp"
#include "engine/run.hpp"
#include "inputs/live/capture_clock.hpp"
#include "inputs/live/live_section.hpp"
#include "inputs/live/live_source.hpp"
#include "inputs/live/missing_watch.hpp"
#include "inputs/live/pipe_spool.hpp"
#include "inputs/live/read_only_target.hpp"
#include "inputs/trace/trace_input.hpp"
#include "plan/clones.hpp"
#include "plan/image_tree.hpp"
#include "report/report.hpp"
#include "targets/blocking_session.hpp"
#include "util/clock_ns.hpp"
#include "util/stop_signals.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

constexpr int64_t kLeastLag = 500'000'000, kMostLag = 60 * kSecond;  // ns

// Makes glibc give memory back. Batches of operations are large, and one thread frees what another one took. By default, glibc
// keeps such memory in a heap for each thread, whose sizes add up to the largest that each one had.
void keep_little_memory() {
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

class LiveInput final : public Input, public GeneratedLoad {
 public:
  LiveInput(int fd, const std::string& name, const LiveOptions& options, ClientsBy clients_by)
      : options_(options),
        clients_by_(clients_by),
        spool_(fd, options.spool),
        reader_(spool_.take_out(), name, options.lag / 4 * 3, &stop_signals()),
        epoch_(start_on_own_clock(reader_.header())) {}

  const TraceHeader& header() const override { return reader_.header(); }
  std::string settings() const override {
    return fmt::format("--live --image {} --lag {} --clones {}", trusts() ? "trust" : "lazy", format_duration(options_.lag),
                       options_.clones);
  }
  void restart(double, const RunLength&) override {
    throw std::runtime_error("--live: a capture that goes on can be replayed once only");
  }
  LoadUnit load_unit() const override { throw std::runtime_error("--find-scale: not possible with --live"); }
  bool next_round() override { return !std::exchange(begun_, true); }
  OwnNames own_names() const override {
    if (!trusts()) return nullptr;
    return [](std::string_view) { return false; };  // nothing may be removed
  }
  bool leaves_target_alone() const override { return trusts(); }
  bool is_live() const override { return true; }

  // The image is empty, because no operation has come yet.
  Image image(const Target& target, const ImageOptions& options, const ShowProgress&) override {
    if (target.places_files())
      throw std::runtime_error(target.name() + ": has no file names, which --live needs; use another target");
    made_ = options;
    made_.content = header().content != "none";
    return Image::of([](ImageTree& tree) { tree.next_object = tree.next_handle = kFirstFree; });
  }

  // A copy of the captured directory must be there for each clone.
  bool check_files(Target& target, Clock& clock, const GoOn& go_on) override {
    if (!trusts() || options_.clones == 1) return true;
    BlockingSession session(target, clock);
    for (unsigned n = 0; n < options_.clones; ++n) {
      if (!go_on()) return false;
      const std::string name = clone_directory(n);
      const ObjectId object = CloneSource::object_of(kRootObject, n, options_.clones);
      const Outcome& found = session.perform({.kind = OpKind::lookup, .object = object, .parent = kRootObject, .name = name});
      const bool other = !found.error && found.attr.valid & kAttrMode && !S_ISDIR(found.attr.mode);
      if (found.error || other)
        throw std::runtime_error(fmt::format(
            "{}: {}: {}; --image trust with {} clones expects a copy of the captured directory in each of clone-0 to clone-{}",
            target.name(), name, strerror(other ? ENOTDIR : found.error), options_.clones, options_.clones - 1));
    }
    return true;
  }

  OpSource* operations(RunOptions&) override { return nullptr; }
  GeneratedLoad* generated() override { return this; }
  void rehearse(Target&, Clock&, const RunOptions&) override {}
  RunResult run(Target& target, Clock& clock, const RunOptions& given) override {
    RunOptions options = given;
    options.knock_on = &differences_;
    options.clients_by = clients_by_;
    options.durations = true;
    files_.emplace(target, clock, options_, made_, options.credentials, *options.known, differences_, options.stop);
    ReadOnlyTarget only_read(target);
    watch_.emplace(target);
    source_.emplace(reader_, *files_, clock, options_, epoch_, options_.resync ? &*watch_ : nullptr, options.stop);
    options.live = [this](const std::atomic<bool>& ended) { source_->heed(ended); };
    options.from = source_->first_start();
    if (options.from != INT64_MAX) {
      files_->begin_with(reader_.initial(), !options_.read_only);
      options.from -= options_.lag;
      options.late = source_->age();
    }
    std::atomic<int> stop{0};
    options.stop = &stop;
    options.progress = [&](const Progress& progress) {
      const int asked = given.stop ? given.stop->load() : 0;
      stop.store(std::max(asked, int(!source_->look(progress))));
      if (given.progress) given.progress(progress);
    };
    Target& used = options_.read_only ? only_read : options_.resync ? *watch_ : target;
    RunResult result = fsr::run(*source_, used, clock, options);
    source_->stop();
    // The schedule may have ended before the run began, which late_at_end() does not know.
    if (options.from != INT64_MAX) late_ = late_after(result, source_->last_start() - options.from - options.late);
    over_ = true;
    return result;
  }

  void describe(Report& report) override {
    if (report.input == "-")
      report.input = fmt::format("capture of {}:{}", escape_text(header().host), escape_text(header().directory));
    auto section = std::make_shared<LiveSection>();
    section->id = header().id;
    section->host = header().host;
    section->options = options_;
    section->from_arrival = !epoch_;
    if (source_) section->status = source_->status();
    section->status.diverged = differences_.diverged();
    section->status.consequences = differences_.after_differences();
    section->status.spooled = spool_.waiting();
    section->status.most_spooled = spool_.most_seen();
    section->status.spool_full = spool_.was_full();
    section->status.spool_failure = spool_.failure();
    if (over_) {  // the reader belongs to the source before
      section->damage = reader_.damage();
      if (const TraceClosing* closing = reader_.closing()) {
        section->dropped = closing->dropped;
        if (!closing->clean && !closing->dropped) section->capture_failed = closing->reason;
      }
      section->late = late_;
      section->late_ends = reader_.late_ends();
    }
    if (over_) report.whole = section->status.operations;
    report.sections = {section};
  }
  void describe_so_far(Report& report) override {
    describe(report);
    report.result.after_differences = differences_.after_differences();
  }

  std::string outlook() const override { return "a capture that goes on"; }
  void take_share(unsigned, unsigned, bool) override {
    throw std::runtime_error("--live: one process replays a capture that goes on; leave the ranks out");
  }
  std::string part() const override { return ""; }
  void add_part(std::string_view, bool) override {}

 private:
  bool trusts() const { return options_.files == LiveFiles::trust; }

  const LiveOptions options_;
  const ClientsBy clients_by_;
  PipeSpool spool_;
  StreamReader reader_;
  const std::optional<int64_t> epoch_;  // CLOCK_MONOTONIC at time 0 of the capture, ns; empty: unknown
  ImageOptions made_;
  KnockOnTracker differences_{KnockOnTracker::Marks::differences};
  std::optional<LiveImage> files_;
  std::optional<MissingWatch> watch_;
  std::optional<LiveSource> source_;
  int64_t late_ = 0;  // see LiveSection
  bool begun_ = false, over_ = false;
};

class LiveKind final : public InputKind {
 public:
  explicit LiveKind(InputOptions& options) : options_(options.live), of_traces_(options.trace) {}
  const char* noun() const override { return "a capture that goes on"; }
  const char* plural() const override { return "live captures"; }

  void declare(Command& group) override {
    group.flag("--live", live_, "replay a capture while it goes on, from a pipe");
    group
        .add_parsed(
            "--image",
            [this](const std::string& text) {
              if (text != "lazy" && text != "trust") throw std::invalid_argument("expected lazy or trust");
              options_.files = text == "trust" ? LiveFiles::trust : LiveFiles::lazy;
            },
            "make files that existed before, or trust a copy")
        .stands_for("HOW");
    group.add_with("--lag", options_.lag, parse_duration, "stay this far behind it (default 2s)").stands_for("TIME");
    group.add_with("--lag-max", lag_max_, parse_duration, "let --when-behind act (default 30s or 4 lags)").stands_for("TIME");
    group
        .add_parsed(
            "--when-behind",
            [this](const std::string& text) {
              if (text != "wait" && text != "skip-reads" && text != "stop")
                throw std::invalid_argument("expected wait, skip-reads or stop");
              options_.when_behind = text == "wait"   ? WhenBehind::wait
                                     : text == "stop" ? WhenBehind::stop
                                                      : WhenBehind::skip_reads;
            },
            "wait, skip-reads or stop, if the lag is too great")
        .stands_for("HOW");
    group.flag("--resync", options_.resync, "make again what the target lacks");
    group.flag("--read-only", options_.read_only, "issue only what changes nothing (--image trust)");
    group.add_with("--spool", options_.spool, parse_size, "keep so much of the stream on disk (default 1G)").stands_for("SIZE");
  }

  bool accepts(const std::string&, std::string_view) const override { return false; }
  bool reads_stream() const override { return live_; }
  std::vector<std::string> shares() const override { return {"--scale", "--clones", "--clients-by"}; }

  std::unique_ptr<Input> open(const std::string& name, int fd, int64_t) const override {
    if (options_.lag < kLeastLag || options_.lag > kMostLag)
      throw std::runtime_error(fmt::format("--lag {}: expected 500ms to 1m", format_duration(options_.lag)));
    options_.lag_max = lag_max_.value_or(usual_lag_max(options_.lag));
    if (options_.lag_max <= options_.lag)
      throw std::runtime_error(fmt::format("--lag-max {}: expected more than --lag {}", format_duration(options_.lag_max),
                                           format_duration(options_.lag)));
    if (options_.read_only && options_.files != LiveFiles::trust)
      throw std::runtime_error("--read-only: files from before the capture would have to be made; add --image trust");
    if (options_.resync && options_.files == LiveFiles::trust)
      throw std::runtime_error("--resync: makes files, but --image trust makes none; leave one of them out");
    options_.clones = clones();
    keep_little_memory();
    return std::make_unique<LiveInput>(fd, name == "-" ? "standard input" : name, options_, clients_by_of(of_traces_.clients_by));
  }

 private:
  // The time of a capture that goes on can't be compressed, so more load than now is more clones.
  unsigned clones() const {
    constexpr unsigned kMost = 100;
    const double scale = of_traces_.scale;
    const unsigned clones = of_traces_.clones.all;
    if (scale != 1 && clones != 1) throw std::runtime_error("--scale: with --live it means --clones; leave one of them out");
    const double all = std::max(scale, double(clones));
    if (scale < 1 || all != std::floor(all))
      throw std::runtime_error(fmt::format(
          "--scale {:g}x: with --live, each operation is issued a whole number of times; expected 1x, 2x and so on", scale));
    if (all > kMost)
      throw std::runtime_error(
          fmt::format("{} {:g}: with --live, expected at most {}", clones > 1 ? "--clones" : "--scale", all, kMost));
    return unsigned(all);
  }

  LiveOptions& options_;
  const TraceOptions& of_traces_;
  std::optional<int64_t> lag_max_;  // as given
  bool live_ = false;
};

}  // namespace

std::unique_ptr<InputKind> live_kind(InputOptions& options) { return std::make_unique<LiveKind>(options); }

}  // namespace fsr
