// SPDX-License-Identifier: Apache-2.0
// fstrace info: what, when, who, how much and how complete, on one screen.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "clone.hpp"
#include "json_out.hpp"
#include "mix/mountstats.hpp"
#include "subcommand.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

constexpr size_t kShownKinds = 12;
constexpr size_t kMostListed = 8;

struct InfoOptions {
  std::vector<std::string> files;
  bool json = false;
};

struct Totals {
  uint64_t operations = 0, failed = 0, unfinished = 0, read_bytes = 0, written_bytes = 0;
  std::array<uint64_t, kOpKinds> by_kind{};
  struct Process {
    std::string command;
    uint64_t operations = 0;
  };
  std::map<std::pair<uint32_t, int32_t>, Process> processes;  // client, pid
  int64_t first = 0, last = 0;
};

Totals count(TraceReader& reader) {
  Totals t;
  OpBatch batch;
  const ThreadInfo* last_who = nullptr;
  Totals::Process* process = nullptr;
  while (reader.next(batch)) {
    last_who = nullptr;  // pointed into the batch before
    for (const Op& op : batch.ops) {
      if (t.operations++ == 0) t.first = op.start;
      t.last = std::max(t.last, op.end());
      ++t.by_kind[unsigned(op.kind)];
      t.failed += op.error != 0;
      t.unfinished += op.has(kOpUnfinished);
      if (op.kind == OpKind::read) t.read_bytes += op.error ? 0 : op.result;
      if (op.kind != OpKind::read && moves_bytes(op)) t.written_bytes += op.error ? 0 : op.result;
      if (op.who && op.who != last_who) {
        last_who = op.who;
        process = &t.processes[{op.who->client, op.who->pid}];
        process->command = op.who->command;
      }
      if (op.who) ++process->operations;
    }
  }
  return t;
}

std::string wall_clock(int64_t ns) {
  time_t seconds = time_t(ns / 1'000'000'000);
  tm parts{};
  char text[64];
  if (!gmtime_r(&seconds, &parts) || !strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)) return "unknown";
  return text;
}

using NamedCounts = std::vector<std::pair<std::string, uint64_t>>;  // by name

template <class Map>
NamedCounts largest(const Map& counts) {
  NamedCounts list(counts.begin(), counts.end());
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return list;
}

NamedCounts kinds_of(const Totals& t) {
  std::map<std::string, uint64_t> kinds;
  for (unsigned i = 0; i < kOpKinds; ++i)
    if (t.by_kind[i]) kinds[op_name(OpKind(i))] = t.by_kind[i];
  return largest(kinds);
}

// Requests that the NFS mount below sent during the capture, for all its users. Empty: its statistics are missing.
NamedCounts wire_of(const TraceReader& reader) {
  Mountstats start, end;
  if (!reader.closing() || !parse_mountstats(reader.header().nfs.mountstats, &start) ||
      !parse_mountstats(reader.closing()->nfs.mountstats, &end))
    return {};
  std::map<std::string, uint64_t> calls;
  for (const auto& [name, n] : end.calls) calls[name] += n;
  for (const auto& [name, n] : start.calls) calls[name] -= std::min(n, calls[name]);
  std::erase_if(calls, [](const auto& call) { return call.second == 0; });
  return largest(calls);
}

std::string counts_text(const NamedCounts& counts) {
  std::string text;
  for (size_t i = 0; i < std::min(counts.size(), kShownKinds); ++i)
    text += fmt::format("{}{} {}",
                        i == 0       ? ""
                        : i % 6 == 0 ? "\n            "
                                     : ", ",
                        counts[i].first, format_count(counts[i].second));
  if (counts.size() > kShownKinds) text += fmt::format(", {} more kinds", counts.size() - kShownKinds);
  return text;
}

std::vector<std::pair<std::string, uint64_t>> commands_of(const Totals& t) {
  std::map<std::string, uint64_t> commands;
  for (const auto& [id, process] : t.processes) commands[process.command] += process.operations;
  return largest(commands);
}

uint64_t filtered_count(const TraceReader& reader) {
  uint64_t n = 0;
  if (const TraceClosing* c = reader.closing())
    for (uint64_t kind : c->filtered) n += kind;
  return n;
}

std::string filtered_text(const TraceReader& reader) {
  if (reader.header().filter.empty()) return {};
  return fmt::format("{}: {} operations left out", escape_text(reader.header().filter),
                     reader.closing() ? format_count(filtered_count(reader)) : "an unknown number of");
}

std::string first_of(std::vector<std::string> list) {
  const size_t shown = std::min(list.size(), kMostListed);
  const std::string more = list.size() > shown ? fmt::format(", {} more", list.size() - shown) : "";
  list.resize(shown);
  std::string text;
  for (const std::string& entry : list) text += (text.empty() ? "" : ", ") + entry;
  return text + more;
}

void print_text(const InfoOptions& options, const TraceReader& reader, const Totals& t) {
  const TraceHeader& h = reader.header();
  const TraceClosing* c = reader.closing();
  auto line = [](const char* label, const std::string& text) {
    if (!text.empty()) fmt::print("{:<12}{}\n", label, text);
  };
  const int64_t duration = std::max(c ? c->end : int64_t(0), t.last) - reader.begin_time();
  const double seconds = double(duration) * 1e-9;
  line("file", fmt::format("{}  {}, {} blocks, {:.2f} bytes per operation", escape_text(options.files[0]),
                           format_size(reader.file_bytes()), format_count(reader.blocks()),
                           t.operations ? double(reader.file_bytes()) / double(t.operations) : 0.0));
  if (reader.files() > 1)
    line("series", fmt::format("{} pieces, the first is number {}", reader.files(), h.piece));
  else if (h.piece > 1)
    line("series", fmt::format("piece {}, times from {} on", h.piece, format_duration(reader.begin_time())));
  std::string recorded = wall_clock(h.epoch);
  if (!h.program.empty()) recorded += " by " + escape_text(h.program);
  if (!h.host.empty()) recorded += " on " + escape_text(h.host);
  if (!h.kernel.empty()) recorded += ", Linux " + escape_text(h.kernel);
  line("recorded", recorded);
  line("directory", escape_text(h.directory));
  if (!h.mount_type.empty())
    line("mounted",
         fmt::format("{} from {} ({})", escape_text(h.mount_type), escape_text(h.mount_source), escape_text(h.mount_options)));
  for (const std::string& below : h.mounts_below) line("inner mount", escape_text(below));
  if (c)
    for (const std::string& below : c->mounts_below) line("inner mount", escape_text(below) + ", mounted during the capture");
  line("command", escape_text(h.command));
  line("transport", escape_text(h.transport));
  line("captured", (h.visibility.empty() ? "" : escape_text(h.visibility) + "; ") +
                       fmt::format("content {}; times in {} ns", escape_text(h.content), h.clock_unit));
  line("filtered", filtered_text(reader));
  line("duration", format_duration(duration));
  line("operations", fmt::format("{}, {} failed, {} unfinished", format_count(t.operations), format_count(t.failed),
                                 format_count(t.unfinished)) +
                         (seconds > 0 ? fmt::format(", {}/s", format_count(uint64_t(double(t.operations) / seconds))) : ""));
  line("data", fmt::format("{} read, {} written", format_size(t.read_bytes), format_size(t.written_bytes)));
  line("kinds", counts_text(kinds_of(t)));
  line("on the wire", counts_text(wire_of(reader)));
  std::vector<std::string> commands;
  for (const auto& [command, n] : commands_of(t)) commands.push_back(escape_text(command) + " " + format_count(n));
  line("processes", fmt::format("{}: {}", format_count(t.processes.size()), first_of(commands)));
  std::vector<std::string> not_seen;
  for (const std::string& mount : h.not_seen) not_seen.push_back(escape_text(mount));
  line("not seen", first_of(not_seen));
  if (c)
    for (const std::string& mount : c->not_seen) line("not seen", escape_text(mount));
  for (const std::string& edit : h.edits) line("edited", escape_text(edit));
  if (!c)
    line("complete", "NO: the closing statement is missing");
  else
    line("complete",
         fmt::format("{}: {}; {} dropped, {} waits for memory{}", c->clean ? "yes" : "NO", escape_text(c->reason),
                     format_count(c->dropped), format_count(c->waited),
                     c->ring_time < 0 ? "" : "; rings for " + format_duration(c->ring_time) + " of the highest load"));
  for (const TraceDamage& d : reader.damage()) line("damaged", d.what);
}

void json_list(JsonOut& json, const char* name, const std::vector<std::string>& values) {
  json.key(name);
  json.open('[');
  for (const std::string& s : values) json.text(s);
  json.close(']');
}

void json_counts(JsonOut& json, const char* name, const NamedCounts& counts) {
  json.key(name);
  json.open('{');
  for (const auto& [of, n] : counts) json.member(of, n);
  json.close('}');
}

void json_header(JsonOut& json, const TraceHeader& h) {
  json.key("header");
  json.open('{');
  json.member("version", h.version);
  json.member("epoch", h.epoch);
  json.member("clock_unit", h.clock_unit);
  json.member("piece", h.piece);
  for (auto [name, value] : {std::pair{"id", &h.id},
                             {"program", &h.program},
                             {"host", &h.host},
                             {"kernel", &h.kernel},
                             {"directory", &h.directory},
                             {"mount_source", &h.mount_source},
                             {"mount_type", &h.mount_type},
                             {"mount_options", &h.mount_options},
                             {"command", &h.command},
                             {"content", &h.content},
                             {"filter", &h.filter},
                             {"visibility", &h.visibility},
                             {"transport", &h.transport},
                             {"mountstats", &h.nfs.mountstats},
                             {"rpc_nfs", &h.nfs.rpc}})
    json.member_text(name, *value);
  json_list(json, "mounts_below", h.mounts_below);
  json_list(json, "not_seen", h.not_seen);
  json_list(json, "edits", h.edits);
  json.close('}');
}

void json_closing(JsonOut& json, const TraceClosing& c) {
  json.key("closing");
  json.open('{');
  json.member("clean", c.clean);
  json.member_text("reason", c.reason);
  json.member("end", c.end);
  json.member("operations", c.operations);
  json.member("dropped", c.dropped);
  json.member("waited", c.waited);
  json.member("out_of_order", c.out_of_order);
  if (c.ring_time >= 0) json.member("ring_time", c.ring_time);
  json_list(json, "mounts_below", c.mounts_below);
  json_list(json, "not_seen", c.not_seen);
  NamedCounts filtered;
  for (unsigned i = 0; i < kOpKinds; ++i)
    if (c.filtered[i]) filtered.emplace_back(op_name(OpKind(i)), c.filtered[i]);
  json_counts(json, "filtered", filtered);
  json.close('}');
}

void json_processes(JsonOut& json, const Totals& t) {
  json.key("processes");
  json.open('[');
  for (const auto& [id, process] : t.processes) {
    json.open('{');
    json.member("client", id.first);
    json.member("pid", id.second);
    json.member_text("command", process.command);
    json.member("operations", process.operations);
    json.close('}');
  }
  json.close(']');
}

void print_info_json(const InfoOptions& options, const TraceReader& reader, const Totals& t) {
  fmt::memory_buffer out;
  JsonOut json(out);
  json.open('{');
  json.member_text("file", options.files[0]);
  json.member("bytes", reader.file_bytes());
  json.member("blocks", reader.blocks());
  json.member("files", reader.files());
  json_header(json, reader.header());
  if (const TraceClosing* c = reader.closing()) json_closing(json, *c);
  json.member("operations", t.operations);
  json.member("failed", t.failed);
  json.member("unfinished", t.unfinished);
  json.member("first_start", t.first);
  json.member("last_end", t.last);
  json.member("read_bytes", t.read_bytes);
  json.member("written_bytes", t.written_bytes);
  json_counts(json, "by_kind", kinds_of(t));
  json_counts(json, "on_the_wire", wire_of(reader));
  json_processes(json, t);
  std::vector<std::string> damage;
  for (const TraceDamage& d : reader.damage()) damage.push_back(d.what);
  json_list(json, "damage", damage);
  json.close('}');
  out.push_back('\n');
  fwrite(out.data(), 1, out.size(), stdout);
}

int info(const InfoOptions& options) {
  auto reader = open_trace(options.files);
  const Totals totals = count(*reader);
  (options.json ? print_info_json : print_text)(options, *reader, totals);
  return reader->damage().empty() ? 0 : 1;
}

}  // namespace

Run add_info(Command& command) {
  auto options = std::make_shared<InfoOptions>();
  add_files(command, options->files);
  command.flag("--json", options->json, "print JSON on standard output");
  return [options] { return info(*options); };
}

}  // namespace fsr::fstrace
