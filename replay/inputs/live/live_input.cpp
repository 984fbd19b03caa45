// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/live_input.hpp"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "base/target.hpp"
#include "engine/limit.hpp"
#include "engine/run.hpp"
#include "inputs/live/live_section.hpp"
#include "inputs/live/live_source.hpp"
#include "plan/image_tree.hpp"
#include "report/report.hpp"
#include "util/clock_ns.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

constexpr int64_t kLeastLag = 500'000'000, kMostLag = 60 * kSecond;  // ns

class LiveInput final : public Input, public GeneratedLoad {
 public:
  LiveInput(int fd, const std::string& name, const LiveOptions& options)
      : options_(options), reader_(fd, name, options.lag / 4 * 3) {}

  const TraceHeader& header() const override { return reader_.header(); }
  std::string settings() const override {
    return fmt::format("--live --image {} --lag {}", trusts() ? "trust" : "lazy", format_duration(options_.lag));
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

  // The image is empty, because no operation has come yet.
  Image image(const Target& target, const ImageOptions& options, const ShowProgress&) override {
    if (target.places_files())
      throw std::runtime_error(target.name() + ": has no file names, which --live needs; use another target");
    made_ = options;
    made_.content = header().content != "none";
    return Image::of([](ImageTree& tree) { tree.next_object = tree.next_handle = kFirstFree; });
  }

  OpSource* operations(RunOptions&) override { return nullptr; }
  GeneratedLoad* generated() override { return this; }
  void rehearse(Target&, Clock&, const RunOptions&) override {}
  RunResult run(Target& target, Clock& clock, const RunOptions& given) override {
    RunOptions options = given;
    files_.emplace(target, clock, options_.files, made_, options.credentials, *options.known, options.stop);
    LiveSource source(reader_, *files_, clock, options_.lag, options.stop);
    options.live = [&source](const std::atomic<bool>& ended) { source.heed(ended); };
    options.from = source.first_start();
    if (options.from != INT64_MAX) options.from -= options_.lag;
    RunResult result = fsr::run(source, target, clock, options);
    source.stop();
    operations_ = source.operations();
    behind_ = source.behind();
    return result;
  }

  void describe(Report& report) override {
    auto section = std::make_shared<LiveSection>();
    section->id = header().id;
    section->host = header().host;
    section->damage = reader_.damage();
    if (const TraceClosing* closing = reader_.closing()) {
      section->dropped = closing->dropped;
      if (!closing->clean && !closing->dropped) section->capture_failed = closing->reason;
    }
    section->trusts = trusts();
    section->lag = options_.lag;
    section->behind = behind_;
    section->late = late_at_end(report.result);
    section->late_ends = reader_.late_ends();
    if (files_) section->files = files_->counts();
    report.whole = operations_;
    report.sections = {section};
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
  StreamReader reader_;
  ImageOptions made_;
  std::optional<LiveImage> files_;
  uint64_t operations_ = 0;
  int64_t behind_ = 0;  // ns
  bool begun_ = false;
};

class LiveKind final : public InputKind {
 public:
  explicit LiveKind(InputOptions& options) : options_(options.live) {}
  const char* noun() const override { return "a capture that goes on"; }
  const char* plural() const override { return "live captures"; }
  const char* help() const override { return "a capture that goes on (--live)"; }

  void declare(Command& group) override {
    group.flag("--live", live_, "replay a capture while it goes on, from a pipe");
    group
        .add_parsed(
            "--image",
            [this](const std::string& text) {
              if (text != "lazy" && text != "trust") throw std::invalid_argument("expected lazy or trust");
              options_.files = text == "trust" ? LiveFiles::trust : LiveFiles::lazy;
            },
            "make files that existed (lazy), or trust a copy")
        .stands_for("HOW");
    group.add_with("--lag", options_.lag, parse_duration, "stay this far behind it (default 2s)").stands_for("TIME");
  }

  bool accepts(const std::string&, std::string_view) const override { return false; }
  bool reads_stream() const override { return live_; }

  std::unique_ptr<Input> open(const std::string& name, int fd, int64_t) const override {
    if (options_.lag < kLeastLag || options_.lag > kMostLag)
      throw std::runtime_error(fmt::format("--lag {}: expected 500ms to 1m", format_duration(options_.lag)));
    return std::make_unique<LiveInput>(fd, name == "-" ? "standard input" : name, options_);
  }

 private:
  LiveOptions& options_;
  bool live_ = false;
};

}  // namespace

std::unique_ptr<InputKind> live_kind(InputOptions& options) { return std::make_unique<LiveKind>(options); }

}  // namespace fsr
