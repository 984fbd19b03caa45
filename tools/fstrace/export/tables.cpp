// SPDX-License-Identifier: Apache-2.0
// Comma-separated values and JSON lines: everything that dump shows.
#include "../op_text.hpp"
#include "format.hpp"

namespace fsr::fstrace {

namespace {

// RFC 4180: in quotes where it must be, quotes doubled. Bytes stay bytes.
std::string quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

class Csv final : public ExportFormat {
 public:
  void begin(fmt::memory_buffer& out) override {
    fmt::format_to(
        std::back_inserter(out),
        "seq,start_ns,duration_ns,op,outcome,client,pid,tid,command,uid,gid,path,path2,object,handle,offset,length,result,"
        "mode,flags,open_flags,op_flags\n");
  }
  Exported add(fmt::memory_buffer& out, const Op& op, const Paths& paths) override {
    const ThreadInfo nobody;
    const ThreadInfo& who = op.who ? *op.who : nobody;
    const std::string outcome = op.has(kOpUnfinished) ? "unfinished" : op.error ? error_name(op.error) : "ok";
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", op.seq,
                   op.start, op.duration, op_name(op.kind), outcome, who.client, who.pid, who.tid, quoted(who.command), op.uid,
                   op.gid, quoted(paths.of(op)), op.name2.empty() ? "" : quoted(paths.path(op.parent2, op.name2)), op.object,
                   op.handle, op.offset, op.length, op.result, op.mode, op.flags, op.open_flags, op.op_flags);
    return Exported::whole;
  }
};

class JsonLines final : public ExportFormat {
 public:
  Exported add(fmt::memory_buffer& out, const Op& op, const Paths& paths) override {
    op_json(out, op, paths);
    return Exported::whole;
  }
};

}  // namespace

const Exporter kCsvExporter = {"csv", "comma-separated values",
                               [](const TraceHeader&) -> std::unique_ptr<ExportFormat> { return std::make_unique<Csv>(); }};
const Exporter kJsonExporter = {"jsonl", "one JSON object per line", [](const TraceHeader&) -> std::unique_ptr<ExportFormat> {
                                  return std::make_unique<JsonLines>();
                                }};

}  // namespace fsr::fstrace
