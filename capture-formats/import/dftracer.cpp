// SPDX-License-Identifier: Apache-2.0
// Logs of DFTracer (.pfw): an event of Chrome's trace format on each line, written when a call has ended. Calls are put in order
// of their boundaries within a window, then read as if strace had written them.
#include "dftracer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "strace_import.hpp"

namespace fsr::dftracer {

namespace {

constexpr size_t kWindow = 65536;  // calls

class Order {
 public:
  Order(const ImportOptions& options, ImportSink& sink) : sink_(sink), calls_(options, sink) {}

  void add(Event event) {
    if (event.start < now_) {
      sink_.note(ImportNotes::changed, "calls that stand too far behind their time in the log");
      event.end = std::max(event.end, now_);
      event.start = now_;
    }
    const int64_t start = event.start;
    starts_.emplace(start, std::move(event));
    while (starts_.size() > kWindow) step();
  }
  void finish() {
    while (!starts_.empty() || !ends_.empty()) step();
    calls_.finish();
  }

 private:
  // A call that ends when another begins has ended before.
  void step() {
    if (!ends_.empty() && (starts_.empty() || ends_.begin()->first <= starts_.begin()->first)) {
      const Event event = std::move(ends_.begin()->second);
      ends_.erase(ends_.begin());
      busy_.erase(event.tid);
      line(strace::Line::resumed, event, event.end, event.tail);
      return;
    }
    Event event = std::move(starts_.begin()->second);
    starts_.erase(starts_.begin());
    if (busy_.contains(event.tid)) return sink_.note(ImportNotes::ignored, "calls made within another call that is logged");
    if (event.tid != event.pid && threads_.insert(event.tid).second) calls_.add_thread(event.tid, event.pid);
    const int64_t next =
        std::min(starts_.empty() ? INT64_MAX : starts_.begin()->first, ends_.empty() ? INT64_MAX : ends_.begin()->first);
    if (event.end <= next) return line(strace::Line::call, event, event.start, event.head + event.tail);
    busy_.insert(event.tid);
    line(strace::Line::unfinished, event, event.start, event.head);
    const int64_t end = event.end;
    ends_.emplace(end, std::move(event));
  }
  void line(strace::Line::Kind kind, const Event& event, int64_t time, const std::string& text) {
    now_ = time;
    const std::string_view whole = kind == strace::Line::resumed ? std::string_view(event.head) : std::string_view(text);
    calls_.line({.kind = kind, .tid = event.tid, .time = time, .name = whole.substr(0, whole.find('(')), .text = text});
  }

  ImportSink& sink_;
  strace::Calls calls_;
  std::multimap<int64_t, Event> starts_, ends_;  // calls that have not begun, and that have not ended
  std::set<int32_t> busy_, threads_;
  int64_t now_ = INT64_MIN;
};

std::string_view event_of(std::string_view line) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '[' || line.front() == ',')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == ']' || line.back() == ',')) line.remove_suffix(1);
  return line;
}

void run(ImportInput& input, const ImportOptions& options, ImportSink& sink) {
  Calls calls(sink);
  Order order(options, sink);
  std::string_view text;
  while (next_text_line(input, sink, &text)) {
    const std::string_view event = event_of(text);
    if (event.empty()) continue;
    const nlohmann::json parsed = nlohmann::json::parse(event, nullptr, false);
    if (parsed.is_discarded())
      sink.note(ImportNotes::lost, kNotUnderstood);
    else if (auto call = calls.call(parsed))
      order.add(std::move(*call));
  }
  order.finish();
}

bool sniff(std::string_view head) {
  const std::string_view start = head.substr(0, 4096);
  return start.find("\"cat\":\"") != std::string_view::npos && start.find("\"ph\":") != std::string_view::npos &&
         (start.find("\"hostname\"") != std::string_view::npos || start.find("\"hhash\"") != std::string_view::npos ||
          start.find("\"cat\":\"POSIX\"") != std::string_view::npos);
}

}  // namespace

}  // namespace fsr::dftracer

const fsr::Importer fsr::kDftracerImporter = {
    "dftracer",
    "DFTracer's .pfw, also compressed",
    "wall clock, in the unit that the log names, else microseconds",
    "outcomes of calls without \"ret\", errors, listings, locks, accesses through mappings, what a stream's buffer held back, "
    "names with ( ) ' \" \\ | (blanks in the log), content",
    fsr::dftracer::sniff,
    fsr::dftracer::run,
};
