// SPDX-License-Identifier: Apache-2.0
// Comma-separated values and JSON lines: everything that dump shows.
#include "../op_text.hpp"
#include "format.hpp"
#include "trace/open_flags.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

// RFC 4180: in quotes where it must be, quotes doubled. Bytes stay bytes.
std::string quoted_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

void set_columns(fmt::memory_buffer& out, const Op& op) {
  const Attr none, &a = op.set ? *op.set : none;
  auto column = [&](bool given, const auto& value) {
    if (given) fmt::format_to(std::back_inserter(out), "{}", value);
    out.push_back(',');
  };
  column(a.valid & kAttrMode, a.mode & 07777);
  column(a.valid & kAttrUid, a.uid);
  column(a.valid & kAttrGid, a.gid);
  column(a.valid & kAttrSize, a.size);
  auto time = [&](uint32_t now, uint32_t given, int64_t value) {
    column(a.valid & (now | given), a.valid & now ? std::string("now") : std::to_string(value));
  };
  time(kAttrAtimeNow, kAttrAtime, a.atime);
  time(kAttrMtimeNow, kAttrMtime, a.mtime);
}

std::string path2(const Op& op, const Paths& paths) {
  if (!op.name2.empty()) return paths.path(op.parent2, op.name2);
  return op.kind == OpKind::copy_file_range && op.object2 ? paths.path(op.object2) : "";
}

// A name has no slash.
std::string listed_text(const Op& op) {
  std::string out;
  for (const DirEntry& e : op.entries) (out += out.empty() ? "" : "/") += e.name;
  return out;
}

std::string prints(const Op& op) {
  std::string out;
  for (const BlockPrint& b : op.blocks)
    out += (out.empty() ? "" : " ") + (b.level ? fmt::format("{:016x}/{}", b.hash, b.level) : std::string("zero"));
  return out;
}

class TablesCsv final : public ExportFormat {
 public:
  void begin(fmt::memory_buffer& out) override {
    fmt::format_to(
        std::back_inserter(out),
        "seq,start_ns,duration_ns,op,outcome,client,pid,tid,command,uid,gid,path,path2,object,handle,offset,length,result,"
        "mode,flags,open_flags,op_flags,set_mode,set_uid,set_gid,set_size,set_atime,set_mtime,name,data,owner,handle2,object2,"
        "offset2,entries,blocks\n");
  }
  Exported add(fmt::memory_buffer& out, const Op& op, const Paths& paths) override {
    const ThreadInfo nobody;
    const ThreadInfo& who = op.who ? *op.who : nobody;
    const std::string outcome = op.has(kOpUnfinished) ? "unfinished" : op.error ? error_name(op.error) : "ok";
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},", op.seq,
                   op.start, op.duration, op_name(op.kind), outcome, who.client, who.pid, who.tid, quoted_cell(who.command),
                   op.uid, op.gid, quoted_cell(paths.of(op)), quoted_cell(path2(op, paths)), op.object, op.handle, op.offset,
                   op.length, op.result, op.mode, op.flags, trace_open_flags(op.open_flags), op.op_flags);
    set_columns(out, op);
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{}\n", has_path_name(op.kind) ? "" : quoted_cell(op.name),
                   quoted_cell(escape_text(op.data)), op.owner, op.handle2, op.object2, op.offset2, quoted_cell(listed_text(op)),
                   prints(op));
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
                               [](const TraceHeader&) -> std::unique_ptr<ExportFormat> { return std::make_unique<TablesCsv>(); }};
const Exporter kJsonExporter = {"jsonl", "one JSON object per line", [](const TraceHeader&) -> std::unique_ptr<ExportFormat> {
                                  return std::make_unique<JsonLines>();
                                }};

}  // namespace fsr::fstrace
