// SPDX-License-Identifier: Apache-2.0
// Chrome's trace event format, which ui.perfetto.dev and chrome://tracing show: a complete event ("ph":"X") for each operation,
// times in microseconds, and the names of processes.
#include <unordered_set>

#include "../json_out.hpp"
#include "../op_text.hpp"
#include "format.hpp"

namespace fsr::fstrace {

namespace {

class Events final : public ExportFormat {
 public:
  void begin(fmt::memory_buffer& out) override { append(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"); }
  void end(fmt::memory_buffer& out) override { append(out, "\n]}\n"); }

  Exported add(fmt::memory_buffer& out, const Op& op, const Paths& paths) override {
    const int64_t pid = op.who ? number_among_clients(*op.who, op.who->pid) : 0,
                  tid = op.who ? number_among_clients(*op.who, op.who->tid) : int64_t(op.thread);
    if (op.who && named_.insert(op.thread).second) {
      event(out, pid, tid, "M", "process_name", [&](JsonOut& json) {
        json.key("args");
        json.open('{');
        const std::string command(op.who->command);
        json.member_text("name", op.who->client ? fmt::format("{} (client {})", command, op.who->client) : command);
        json.close('}');
      });
    }
    event(out, pid, tid, op.has(kOpUnfinished) ? "B" : "X", op_name(op.kind), [&](JsonOut& json) {
      json.member_text("cat", "file");
      json.member("ts", fmt::format_int(op.start / 1000).str() + fmt::format(".{:03}", std::abs(op.start % 1000)));
      if (!op.has(kOpUnfinished)) json.member("dur", fmt::format("{}.{:03}", op.duration / 1000, op.duration % 1000));
      json.key("args");
      json.open('{');
      json.member_text("path", paths.of(op));
      if (!op.name2.empty()) json.member_text("path2", paths.path(op.parent2, op.name2));
      if (op.length || op.offset) json.member("offset", op.offset);
      if (op.length) json.member("length", op.length);
      if (op.error) json.member_text("error", error_name(op.error));
      if (!op.error && op.result) json.member("result", op.result);
      json.close('}');
    });
    return Exported::whole;
  }

 private:
  static void append(fmt::memory_buffer& out, std::string_view text) { out.append(text.data(), text.data() + text.size()); }

  template <class Members>
  void event(fmt::memory_buffer& out, int64_t pid, int64_t tid, const char* phase, const char* name, Members members) {
    append(out, first_ ? "" : ",\n");
    first_ = false;
    JsonOut json(out);
    json.open('{');
    json.member_text("name", name);
    json.member_text("ph", phase);
    json.member("pid", pid);
    json.member("tid", tid);
    members(json);
    json.close('}');
  }

  std::unordered_set<ThreadId> named_;
  bool first_ = true;
};

}  // namespace

const Exporter kChromeExporter = {"chrome", "trace events for ui.perfetto.dev and chrome://tracing",
                                  [](const TraceHeader&) -> std::unique_ptr<ExportFormat> { return std::make_unique<Events>(); }};

}  // namespace fsr::fstrace
