// SPDX-License-Identifier: Apache-2.0
#include "inputs/trace_input.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "engine/run.hpp"
#include "plan/clones.hpp"
#include "report/report.hpp"
#include "trace/live_state.hpp"
#include "trace/reader.hpp"
#include "trace/series.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

class TraceInput final : public Input {
 public:
  TraceInput(int fd, const std::string& name) : trace_(fd, name) {}  // of a pipe
  explicit TraceInput(const std::vector<std::string>& pieces) : trace_(pieces) {}

  const TraceHeader& header() const override { return trace_.header(); }

  int64_t begin_time() const override { return trace_.begin_time(); }

  bool next_round() override { return !std::exchange(begun_, true); }

  Image image(const Target&, const ImageOptions& options, const ShowProgress& progress) override {
    LiveState state = before_range(options);
    ImageOptions wanted = options;
    wanted.content = header().content != "none";
    return Image::analyze(trace_, std::move(state), wanted,
                          [&](int64_t) { progress(trace_.position_bytes(), trace_.file_bytes()); });
  }

  OpSource& operations(const ImageOptions& image, RunOptions&) override {
    trace_.seek_op(0);
    if (image.from > 0) trace_.seek_time(image.from);
    if (image.clones == 1) return trace_;
    clones_ = std::make_unique<CloneSource>(trace_, image.clones);
    return *clones_;
  }

  LiveState before(const ImageOptions& options) override { return options.clones == 1 ? before_range(options) : LiveState(); }

  void describe(Report& report) const override {
    report.damage = trace_.damage();
    const TraceClosing* closing = trace_.closing();
    report.trace_complete = closing && closing->clean && closing->dropped == 0;
    if (!header().filter.empty()) {
      uint64_t left_out = 0;
      if (closing)
        for (uint64_t n : closing->filtered) left_out += n;
      report.warnings = {fmt::format("the capture was filtered ({}): {} operations are not in the trace",
                                     escape_text(header().filter), closing ? format_count(left_out) : "an unknown number of")};
    }
    if (report.trace_complete && report.damage.empty()) return;
    report.incomplete = !closing           ? "cut: the closing statement is missing"
                        : closing->dropped ? format_count(closing->dropped) + " operations were dropped by the recorder"
                        : !closing->clean  ? "the recording failed: " + closing->reason
                                           : report.damage.front().what;
  }

 private:
  // From the beginning too: a trace that was cut out of another one starts with what was there by then.
  LiveState before_range(const ImageOptions& options) {
    LiveState state;
    trace_.load_state(options.from > 0 ? options.from : INT64_MIN, state);
    return state;
  }

  TraceReader trace_;
  std::unique_ptr<CloneSource> clones_;
  bool begun_ = false;
};

}  // namespace

const InputPlugin trace_plugin = {
    "a trace, recorded by fsshim", [](const std::string&, std::string_view first) { return looks_like_trace(first); },
    [](const std::string& name, int fd, const WorkloadOptions& options) -> std::unique_ptr<Input> {
      struct stat st;
      const bool piped = name == "-" || (stat(name.c_str(), &st) == 0 && S_ISFIFO(st.st_mode));
      std::unique_ptr<TraceInput> input;
      if (piped) {
        input = std::make_unique<TraceInput>(fd, name == "-" ? "standard input" : name);
      } else {
        if (fd >= 0) close(fd);
        input = std::make_unique<TraceInput>(series_files(name));
      }
      if (options.given)
        throw std::runtime_error(name + ": is a trace: --load and its like are for mixfiles (see --scale, --timing)");
      return input;
    }};

}  // namespace fsr
