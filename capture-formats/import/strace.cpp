// SPDX-License-Identifier: Apache-2.0
// strace -f -ttt -T, with or without -y, other times and more: lines, and calls that are parted by others.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "strace_import.hpp"
#include "strace_times.hpp"

namespace fsr::strace {

constexpr std::string_view kNoEnd = "calls whose end the log does not show";

void Calls::line(const Line& line) {
  if (line.kind == Line::other) return;
  if (line.kind == Line::ended) {
    thread_ = processes_.find(line.tid);
    start_ = end_ = line.time;
    if (thread_) ended();
    processes_.erase(line.tid);
    thread_ = nullptr;
    return;
  }
  Thread& thread = processes_.thread(line.tid);
  std::string whole;
  start_ = line.time;
  if (line.kind == Line::unfinished) {
    if (!processes_.resume(thread).empty()) note(ImportNotes::lost, kNoEnd);
    processes_.suspend(thread, line.text, line.time);
    return;
  }
  if (line.kind == Line::resumed) {
    if (!std::string_view(thread.pending).starts_with(line.name))
      return note(ImportNotes::lost, "calls whose beginning the log does not show");
    whole = processes_.resume(thread) + std::string(line.text);
    start_ = thread.pending_since;
  }
  const bool good = parse_call(whole.empty() ? line.text : std::string_view(whole), &call_);
  end_ = call_.duration >= 0 ? start_ + call_.duration : line.time;
  thread_ = &thread;
  // A thread is in one call at a time.
  if (!processes_.resume(thread).empty()) note(ImportNotes::lost, kNoEnd);
  if (!good)
    note(ImportNotes::lost, kNotUnderstood);
  else
    call();
  // strace -qq does not report the end of a thread.
  if (good && !call_.returned && (call_.name == "exit" || call_.name == "exit_group")) {
    ended();
    processes_.erase(line.tid);
    thread_ = nullptr;
  }
  sink_.passed(std::min(processes_.oldest_pending(), start_));
}

void Calls::call() {
  const CallSpec* spec = find(call_.name);
  if (!spec) return unknown();
  if (!call_.returned) return note(ImportNotes::ignored, "calls that the kernel restarted, or that ended their process");
  if (call_.duration < 0) note(ImportNotes::changed, "calls without a duration (use strace -T)");
  (this->*spec->handle)(*spec);
}

void Calls::finish() {
  if (const uint64_t n = processes_.pending())
    sink_.note(ImportNotes::lost, "calls that had not returned at the end of the log", n);
}

bool Calls::names_file() {
  for (std::string_view argument : call_.args) {
    int fd;
    std::string path;
    if (!parse_string(argument, &path) && parse_descriptor(argument, &fd, &path)) {
      const auto it = thread_->files->find(fd);
      const bool first = argument.data() == call_.args.front().data();  // a number at another position may be no descriptor
      if ((first || !path.empty()) && it != thread_->files->end() && it->second.open && tree_.inside(it->second.open->node))
        return true;
    }
    if (path.empty()) continue;
    const NodeId base = path.starts_with('/') ? kTopNode : thread_->directory->cwd;
    const ImportTree::Found found = tree_.find(base, path, false, false);
    if (!found.bad && tree_.inside(found.node ? found.node : found.parent)) return true;
  }
  return false;
}

// Counts a call that is not in the table, for example of a newer kernel.
void Calls::unknown() {
  if (concerns_no_file(call_.name) || !names_file()) return note(ImportNotes::ignored, "system calls that use no file");
  constexpr size_t kMostNamed = 50, kLongest = 40;
  const bool named = call_.name.size() <= kLongest && (unknown_.contains(call_.name) || unknown_.size() < kMostNamed);
  if (named) unknown_.emplace(call_.name);
  note(ImportNotes::lost, named ? fmt::format("{}: an unknown call on a file", call_.name) : "other unknown calls on files");
}

void Calls::lose(const CallSpec& spec) {
  note(ImportNotes::lost, fmt::format("{}: strace does not show all arguments", spec.name));
}

}  // namespace fsr::strace

namespace fsr {

// The text without the process (-f) and the instruction pointer (-i) in front.
static std::string_view without_prefixes(std::string_view text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const bool bracket = text.starts_with('['), digit = !text.empty() && isdigit(static_cast<unsigned char>(text[0]));
    const size_t end = bracket ? text.find(']') : digit ? text.find(' ') : text.npos;
    if (end == text.npos) return text;
    text.remove_prefix(end + 1);
  }
}

// True for a line of strace that lacks only the time.
static bool lacks_time(std::string_view text) {
  text = without_prefixes(text);
  strace::Call call;
  return strace::parse_call(text, &call) && call.returned && strace::is_call_name(call.name);
}

static bool is_strace(std::string_view head) {
  for (unsigned lines = 0; lines < 20 && !head.empty(); ++lines) {
    const size_t end = std::min(head.find('\n'), head.size());
    strace::Line line;
    if (strace::parse_line(head.substr(0, end), &line) ? line.kind != strace::Line::other : lacks_time(head.substr(0, end)))
      return true;
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return false;
}

static void import_strace(ImportInput& input, const ImportOptions& options, ImportSink& sink) {
  strace::Calls calls(options, sink);
  strace::LineTimes times;
  std::string_view text;
  bool begun = false;
  while (next_text_line(input, sink, &text)) {
    strace::Line line;
    if (text.starts_with("% time ")) break;  // the table of -C is the end
    // Skip messages of strace itself, and the callers that -k prints.
    if (text.starts_with("strace: ") || text.starts_with(" > ") || text.starts_with("[ Process PID=")) continue;
    if (!strace::parse_line(text, &line)) {
      if (!begun && lacks_time(text))
        throw ImportError(input.place() + ": strace log without times; expected a log of strace -ttt (or -tt, -t, -r)");
      sink.note(ImportNotes::lost, kNotUnderstood);
      continue;
    }
    begun = true;
    times.settle(&line);
    if (times.coarse() && line.kind == strace::Line::call)
      sink.note(ImportNotes::changed, "calls whose time is in whole seconds (strace -ttt records microseconds)");
    calls.line(line);
  }
  calls.finish();
}

const Importer kStraceImporter = {
    "strace",
    "strace -f -ttt -T, with or without -y",
    "the wall clock of the machine, as fine as in the log (-ttt: microseconds; -tt and -t lack the day, -r begins at 0)",
    "user and group of the caller, reads and writes through mappings, content, files of inherited descriptors and relative paths "
    "without strace -y, symbolic links that the log does not show, the umask before its first change (022 is assumed)",
    is_strace,
    import_strace,
};

}  // namespace fsr
