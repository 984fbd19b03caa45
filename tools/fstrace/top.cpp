// SPDX-License-Identifier: Apache-2.0
// fstrace top: what a trace's kinds, processes and files do, also while it is recorded. A trace that grows is opened anew for
// each screen, and read from where the screen before ended.
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "file_groups.hpp"
#include "open_op.hpp"
#include "stream.hpp"
#include "subcommand.hpp"
#include "top_screen.hpp"
#include "trace/live_state.hpp"
#include "trace_output.hpp"
#include "util/clock_ns.hpp"
#include "util/stop_signals.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

constexpr size_t kRowsInFile = 10;       // of each table, where the output is no terminal
constexpr size_t kRowsInTerminal = 3;    // of each table, at least
constexpr size_t kLinesWithoutRows = 9;  // lines of a screen that are no rows, and the cursor's

struct TopOptions {
  std::vector<std::string> files;
  std::string sort = "time";
  int64_t interval = 2'000'000'000;  // ns
  size_t top = 0;                    // rows of each table; 0: as many as fit
  bool once = false;
};

// Returns the trace of the capture of `directory`. Throws std::runtime_error.
std::string trace_of_capture(const std::string& directory) {
  char resolved[PATH_MAX];
  if (!realpath(directory.c_str(), resolved)) throw std::system_error(errno, std::generic_category(), directory);
  FILE* list = popen("fsshim list --json", "re");
  std::string text;
  char buffer[4096];
  for (size_t n; list && (n = fread(buffer, 1, sizeof buffer, list)) > 0;) text.append(buffer, n);
  if (!list || pclose(list) != 0)
    throw std::runtime_error(directory + ": is a directory, and fsshim list, which knows captures, failed; name the trace");
  std::string trace;
  for (const auto& capture : nlohmann::json::parse(text))
    if (capture.value("directory", "") == escape_text(resolved)) trace = capture.value("trace", "");
  if (trace.empty()) throw std::runtime_error(directory + ": no capture of this directory is running; name a trace instead");
  return trace;
}

bool is_directory(const std::string& name) {
  struct stat st;
  return stat(name.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

// True: the input can be read once only.
bool is_stream(const std::string& name) {
  struct stat st;
  return name == "-" || (stat(name.c_str(), &st) == 0 && !S_ISREG(st.st_mode));
}

class Top {
 public:
  explicit Top(const TopOptions& options) : options_(options), terminal_(isatty(STDOUT_FILENO)) {}

  int run() {
    const std::atomic<int>& stop = count_stop_signals();
    const bool once = options_.once || is_stream(options_.files[0]);
    if (!options_.once)
      if (const auto stream = open_stream(options_.files, true)) return follow(*stream);
    for (;;) {
      const auto reader = read();
      const bool complete = reader->closing() != nullptr;
      print();
      if (complete) report_lacks(options_.files[0], reader->closing());
      if (once || complete || stop || ferror(stdout)) return damaged_ ? 1 : 0;
      const timespec pause{options_.interval / 1'000'000'000, options_.interval % 1'000'000'000};
      nanosleep(&pause, nullptr);  // a signal ends it
      if (stop) return damaged_ ? 1 : 0;
    }
  }

 private:
  // Shows what comes by a pipe, until its end or a signal.
  int follow(StreamReader& stream) {
    OpBatch batch;
    stream.on_late_end([this](const Op& end) { take_end(end); });
    bool ended = false;
    do {
      for (StatGroups* groups : all_groups()) groups->clear();
      from_ = to_;
      const uint64_t first = next_;
      const int64_t until = clock_ns(CLOCK_MONOTONIC) + options_.interval;
      for (int64_t left = options_.interval; left > 0 && !ended; left = until - clock_ns(CLOCK_MONOTONIC)) {
        const StreamReader::Wait wait = stream.next_within(batch, int(std::min<int64_t>(left / 1'000'000 + 1, 1000)));
        ended = wait == StreamReader::Wait::end;
        if (wait != StreamReader::Wait::came) continue;
        if (!std::exchange(begun_, true)) learn(stream.initial(), paths_);
        begin_batch();
        for (const Op& op : batch.ops) add(op);
      }
      count_open(next_ == first);
      state_ = !ended ? "live" : stream.closing() && stream.closing()->clean ? "complete" : "ended, not complete";
      print();
    } while (!ended && !ferror(stdout));
    return report_stream(options_.files[0], stream);
  }

  // Counts what was recorded since the last call.
  std::unique_ptr<TraceReader> read() {
    auto reader = open_trace(options_.files);
    for (StatGroups* groups : all_groups()) groups->clear();
    if (!begun_ || reader->header().id != id_) {
      begin(*reader);
      from_ = to_;
    } else {
      from_ = to_;
      take_ends(*reader);
      reader->seek_op(next_);
    }
    const uint64_t first = next_;
    OpBatch batch;
    while (reader->next(batch)) {
      begin_batch();
      if (next_ == first && !batch.ops.empty() && to_was_guessed_) from_ = std::min(from_, batch.ops.front().start);
      for (const Op& op : batch.ops) add(op);
    }
    count_open(next_ == first);
    const TraceClosing* closing = reader->closing();
    state_ = !closing ? "not complete yet" : closing->clean ? "complete" : "ended, not complete: " + closing->reason;
    // The end of a trace that grows looks like damage. Other damage has an end.
    for (const TraceDamage& d : reader->damage()) {
      if (!closing && d.to < 0) continue;
      if (!damaged_) fprintf(stderr, "fstrace: %s: %s\n", options_.files[0].c_str(), d.what.c_str());
      damaged_ = true;
    }
    return reader;
  }

  // Begins with another trace, which may have taken the place of an earlier one of the same name.
  void begin(TraceReader& reader) {
    begun_ = true;
    id_ = reader.header().id;
    paths_ = {};
    LiveState state;
    reader.load_state(INT64_MIN, state);
    state.each_name(
        [this](ObjectId parent, std::string_view name, ObjectId object, uint32_t) { paths_.learn(parent, name, object); });
    open_.clear();
    to_was_guessed_ = false;
    next_ = 0;
    to_ = reader.begin_time();
  }

  void add(const Op& op) {
    paths_.apply(op);
    next_ = op.seq + 1;
    to_ = std::max(to_, op.end());
    each_group_of(op, [&](StatGroups& groups) { groups.add(op); });
    if (!op.has(kOpUnfinished)) return;
    Open& open = open_[op.seq];
    open.counted_to = op.start;
    open.keep(op);
  }

  // Takes the ends of operations that had none when they were read. Such an operation may be in a block far back.
  void take_ends(TraceReader& reader) {
    OpBatch batch;
    for (auto next = open_.begin(); next != open_.end();) {
      reader.seek_op(next->first);
      if (!reader.next(batch)) return;
      begin_batch();
      const uint64_t wanted = next->first;
      for (const Op& op : batch.ops) {
        while (next != open_.end() && next->first < op.seq) ++next;
        if (next == open_.end()) return;
        if (next->first != op.seq || op.has(kOpUnfinished)) continue;
        paths_.apply(op);
        to_ = std::max(to_, op.end());
        const int64_t counted = next->second.counted_to - op.start;
        each_group_of(op, [&](StatGroups& groups) { groups.add_end(op, counted); });
        next = open_.erase(next);
      }
      if (next != open_.end() && next->first == wanted) ++next;
    }
  }

  // Takes the end of an operation that was read without one.
  void take_end(const Op& end) {
    const auto found = open_.find(end.seq);
    if (found == open_.end()) return;
    Op op = end;
    op.start = found->second.op.start;
    paths_.apply(op);
    to_ = std::max(to_, op.end());
    begin_batch();
    each_group_of(op, [&](StatGroups& groups) { groups.add_end(op, found->second.counted_to - op.start); });
    open_.erase(found);
  }

  // Counts the time that went by for operations without an end. `still`: nothing was recorded, so the trace has no time either.
  void count_open(bool still) {
    const int64_t now = clock_ns(CLOCK_MONOTONIC);
    to_was_guessed_ = still && !open_.empty() && read_at_;
    if (to_was_guessed_) to_ = std::max(to_, from_ + now - read_at_);
    read_at_ = now;
    begin_batch();
    for (auto& entry : open_) {
      Open& open = entry.second;
      const int64_t time = std::max<int64_t>(to_ - open.counted_to, 0);
      open.counted_to += time;
      each_group_of(open.op, [&](StatGroups& groups) { groups.add_open(open.op, time); });
    }
  }

  void begin_batch() {
    for (StatGroups* groups : all_groups()) groups->begin_batch();
  }
  template <class Add>
  void each_group_of(const Op& op, Add add) {
    add(kinds_);
    add(processes_);
    if (op.object) add(files_);
  }

  void print() {
    TopScreen screen{.trace = options_.files[0], .state = state_, .from = from_, .to = to_};
    screen.sort = options_.sort == "bytes" ? TopSort::bytes : options_.sort == "time" ? TopSort::time : TopSort::operations;
    screen.most = options_.top ? options_.top : kRowsInFile;
    if (winsize size{}; terminal_ && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col) {
      screen.columns = size.ws_col;
      const size_t lines = std::max<size_t>(size.ws_row, kLinesWithoutRows) - kLinesWithoutRows;
      if (!options_.top) screen.most = std::max(kRowsInTerminal, lines / 3);
    }
    TopTable kinds{.heading = "kind"}, processes{.heading = "process"}, files{.heading = "file", .keeps_end = true};
    for (const StatGroups::Group& g : kinds_.groups()) {
      screen.total.merge(g.measure);
      kinds.rows.push_back({kinds_.labels(g, paths_)[0].text, &g.measure});
    }
    for (const StatGroups::Group& g : processes_.groups()) {
      const std::vector<Label> labels = processes_.labels(g, paths_);  // client, pid, command
      processes.rows.push_back({labels[1].text + " " + labels[2].text, &g.measure});
    }
    const std::vector<FileGroup> by_path = groups_by_path(files_, paths_);
    for (const FileGroup& file : by_path) files.rows.push_back({file.path, &file.measure});
    screen.tables = {std::move(kinds), std::move(processes), std::move(files)};
    std::string text = top_text(std::move(screen));
    if (terminal_ && !options_.once) {
      // Lines replace those of the screen before, without a blank screen in between.
      for (size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 4) text.replace(at, 1, "\x1b[K\n");
      text = (printed_ ? "\x1b[H" : "\x1b[2J\x1b[H") + text + "\x1b[J";
    } else if (printed_) {
      text = "\n" + text;
    }
    printed_ = true;
    fwrite(text.data(), 1, text.size(), stdout);
    fflush(stdout);
  }

  std::array<StatGroups*, 3> all_groups() { return {&kinds_, &processes_, &files_}; }

  struct Open : OpenOp {
    int64_t counted_to = 0;  // ns: until then, its time is in screens
  };

  const TopOptions& options_;
  const bool terminal_;
  std::string id_, state_;
  uint64_t next_ = 0;              // number of the first operation that was not read
  int64_t from_ = 0, to_ = 0;      // ns: the stretch of the present screen
  std::map<uint64_t, Open> open_;  // by Op::seq
  bool to_was_guessed_ = false;    // from the time between two screens
  int64_t read_at_ = 0;            // ns, CLOCK_MONOTONIC
  bool begun_ = false, damaged_ = false, printed_ = false;
  Paths paths_;
  StatGroups kinds_{{Dimension::op}}, processes_{{Dimension::process}}, files_{{Dimension::file}};
};

int top(TopOptions& options) {
  if (options.files.size() == 1 && is_directory(options.files[0])) options.files[0] = trace_of_capture(options.files[0]);
  return Top(options).run();
}

}  // namespace

Run add_top(Command& command) {
  auto options = std::make_shared<TopOptions>();
  command.add("FILE", options->files, "the trace, its series' name, or a directory that is being captured").required();
  command.flag("--once", options->once, "print one screen of everything recorded so far, and end");
  command.add_with("--interval", options->interval, parse_time_span, "print a screen this often (default 2s)").stands_for("TIME");
  command.add("--sort", options->sort, "sort by operations, bytes or time, largest first (default time)")
      .one_of({"operations", "bytes", "time"});
  command.add("--top", options->top, "print at most so many rows of each table (default: as many as fit)");
  return [options] { return top(*options); };
}

}  // namespace fsr::fstrace
