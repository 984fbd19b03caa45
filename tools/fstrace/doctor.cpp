// SPDX-License-Identifier: Apache-2.0
// fstrace doctor: one text about this machine and a trace or a run, to send to others. It has no names of files, users, hosts or
// programs.
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "op_text.hpp"
#include "sql/results_reader.hpp"
#include "sql/results_schema.hpp"
#include "subcommand.hpp"
#include "util/environment.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

constexpr size_t kMostRows = 40;  // rows of a table

struct DoctorOptions {
  std::string file;
};

void line(const char* what, const std::string& text) {
  if (!text.empty()) fmt::print("{:<12}{}\n", what, text);
}

// The words of a text, but for those that may name something: with a slash, a colon between digits or letters, an @ or quotes.
std::string without_names(const std::string& text) {
  std::string out, word;
  auto add = [&] {
    const bool name = word.find_first_of("/@'\"\\") != std::string::npos;
    out += name ? "NAME" : word;
    word.clear();
  };
  for (char c : text) {
    if (c != ' ' && c != '\n' && c != ',' && c != '(' && c != ')') {
      word += c;
      continue;
    }
    add();
    out += c == '\n' ? ' ' : c;
  }
  add();
  return out;
}

// The beginning of a reason, up to where it may name a file, a host or a user.
std::string reason_shape(const std::string& reason) { return without_names(reason.substr(0, reason.find_first_of(":(\"'"))); }

// The end of a description of damage, which may begin with the name of a file.
std::string damage_shape(const std::string& what) {
  const size_t colon = what.rfind(": ");
  return without_names(colon == what.npos ? what : what.substr(colon + 2));
}

// Mount options: values stay only if they are a number or a version, because others are addresses and paths.
std::string options_shape(const std::string& options) {
  std::string out;
  for (size_t at = 0; at <= options.size();) {
    const size_t end = std::min(options.find(',', at), options.size());
    const std::string option = options.substr(at, end - at);
    const size_t equals = option.find('=');
    const std::string name = option.substr(0, equals), value = equals == option.npos ? "" : option.substr(equals + 1);
    const bool number = std::all_of(value.begin(), value.end(), isdigit) || name == "vers";
    const bool word =
        name == "proto" || name == "sec" || name == "cache" || name == "data" || name == "lock" || name == "local_lock";
    if (!name.empty())
      out += (out.empty() ? "" : ",") + name + (equals == option.npos ? "" : "=" + (number || word ? value : "..."));
    at = end + 1;
  }
  return out;
}

// "server:/export nfs4 rw,vers=4.2" without the source.
std::string mount_shape(const std::string& mount) {
  const size_t options = mount.rfind(' ');
  const size_t type = options == mount.npos || options == 0 ? mount.npos : mount.rfind(' ', options - 1);
  if (type == mount.npos) return "";
  return mount.substr(type + 1, options - type) + options_shape(mount.substr(options + 1));
}

std::string first_line(const char* file) {
  std::string text;
  std::ifstream in(file);
  std::getline(in, text);
  return text;
}

std::string device_state() {
  const int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fd < 0) return std::string("/dev/fuse: ") + strerror(errno);
  close(fd);
  return "/dev/fuse can be opened";
}

void print_machine() {
  const Environment here = environment();
  utsname system{};
  uname(&system);
  line("program", std::string("fstrace " FSR_VERSION) + (*kCommit ? std::string(" ") + kCommit : "") + ", trace format " +
                      std::to_string(kTraceVersion) + ", results " + std::to_string(kResultsVersion));
  line("kernel", std::string(system.release) + " " + system.machine + ", " + system.version);
  line("machine", fmt::format("{} x {}, {}", here.cpus, here.cpu, format_size(here.memory)));
  line("user", geteuid() == 0 ? "root" : "not root");
  line("fuse", device_state());
  line("io_uring", first_line("/proc/sys/kernel/io_uring_disabled").empty()
                       ? "no setting"
                       : "io_uring_disabled = " + first_line("/proc/sys/kernel/io_uring_disabled"));
  line("security", first_line("/sys/kernel/security/lsm"));
  line("here", mount_shape(mount_text(here.directory)));
}

template <class Row>
void print_rows(std::vector<Row> rows, const char* more) {
  for (size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) fmt::print("  {}\n", rows[i]);
  if (rows.size() > kMostRows) fmt::print("  and {} more {}\n", rows.size() - kMostRows, more);
}

// Outcomes by kind: "open EACCES 12 of 300". Most frequent first.
std::vector<std::string> failures(const std::map<std::pair<OpKind, int32_t>, uint64_t>& failed,
                                  const std::array<uint64_t, kOpKinds>& by_kind) {
  std::vector<std::pair<std::pair<OpKind, int32_t>, uint64_t>> sorted(failed.begin(), failed.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> rows;
  for (const auto& [what, count] : sorted)
    rows.push_back(fmt::format("{} {} {} of {}", op_name(what.first), error_name(what.second), format_count(count),
                               format_count(by_kind[unsigned(what.first)])));
  return rows;
}

int print_trace(std::unique_ptr<TraceReader> reader) {
  const TraceHeader& h = reader->header();
  fmt::print("\n");
  line("trace", fmt::format("of {}, Linux {}, {}, in {} file{}", without_names(h.program), h.kernel,
                            format_size(reader->file_bytes()), reader->files(), reader->files() == 1 ? "" : "s"));
  line("mount", h.mount_type.empty() ? "" : h.mount_type + " " + options_shape(h.mount_options));
  line("transport", without_names(h.transport));
  line("visibility", without_names(h.visibility));
  line("content", h.content);
  line("filter", h.filter.empty() ? "" : "there is one");
  line("bypassed", h.not_seen.empty() ? "" : fmt::format("processes that were not captured: {}", h.not_seen.size()));
  line("edits", h.edits.empty() ? "" : fmt::format("{} since the capture", h.edits.size()));

  uint64_t operations = 0, unfinished = 0;
  std::array<uint64_t, kOpKinds> by_kind{};
  std::map<std::pair<OpKind, int32_t>, uint64_t> failed;
  OpBatch batch;
  while (reader->next(batch))
    for (const Op& op : batch.ops) {
      ++operations;
      ++by_kind[unsigned(op.kind)];
      unfinished += op.has(kOpUnfinished);
      if (op.error) ++failed[{op.kind, op.error}];
    }
  line("operations",
       fmt::format("{} in {}, {} unfinished", format_count(operations), format_duration(reader->end_time()), unfinished));
  if (const TraceClosing* c = reader->closing())
    line("closing", fmt::format("{}: {}; {} dropped, {} waited for memory, {} out of order", c->clean ? "clean" : "not clean",
                                reason_shape(c->reason), c->dropped, c->waited, c->out_of_order));
  else
    line("closing", "missing");
  std::vector<std::string> damage, kinds;
  for (const TraceDamage& d : reader->damage()) damage.push_back(damage_shape(d.what));
  for (unsigned kind = 0; kind < kOpKinds; ++kind)
    if (by_kind[kind]) kinds.push_back(fmt::format("{} {}", op_name(OpKind(kind)), format_count(by_kind[kind])));
  line("damage", damage.empty() ? "none" : std::to_string(damage.size()));
  print_rows(damage, "parts");
  line("kinds", std::to_string(kinds.size()));
  print_rows(kinds, "kinds");
  line("failed", failed.empty() ? "none" : "by kind and error");
  print_rows(failures(failed, by_kind), "outcomes");
  return reader->damage().empty() ? 0 : 1;
}

// A URL's scheme; a directory has none.
std::string target_shape(const std::string& target) {
  const size_t colon = target.find(':');
  return colon == target.npos || target.find('/') < colon ? "a directory" : target.substr(0, colon + 1);
}

void print_run(ResultsReader& results, const ResultRow& run) {
  const int64_t id = run.number("id");
  fmt::print("\n");
  line("run", fmt::format("{} of {}, exit status {}", id, without_names(run.text("program")), run.number("exit_status")));
  line("kernel", run.text("kernel"));
  line("target",
       target_shape(run.text("target")) + (run.has("target_mount") ? ", " + mount_shape(run.text("target_mount")) : ""));
  line("options", fmt::format("timing {}, order {}, scale {}, clones {}, workers {}, streams {}, uid {}", run.text("timing"),
                              run.text("ordering"), run.real("scale"), run.number("clones"), run.number("workers"),
                              run.number("streams"), run.text("uid").starts_with("map=") ? "map" : run.text("uid")));
  std::string counts;
  for (const char* name : {"operations", "issued", "matched", "differed", "followed", "failed", "unanswered", "cancelled",
                           "overdue", "unfinished", "violations", "blocks_compared", "behind"})
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", name, run.number(name));
  line("counts", counts);
  std::string reasons;
  std::istringstream lines(run.text("not_clean"));
  for (std::string reason; std::getline(lines, reason);) reasons += (reasons.empty() ? "" : "; ") + reason_shape(reason);
  line("not clean", reasons);
  line("limited by", reason_shape(run.text("limited_by")));
  std::vector<std::string> kinds, differences, counters;
  for (const ResultRow& row : results.rows("kinds", id))
    if (row.number("differed") || row.number("failed") || row.number("impossible") || row.number("refused") ||
        row.number("permission"))
      kinds.push_back(fmt::format("{} issued {}, differed {} (by permission {}), failed {}, impossible {}, refused {}",
                                  row.text("kind"), row.number("issued"), row.number("differed"), row.number("permission"),
                                  row.number("failed"), row.number("impossible"), row.number("refused")));
  for (const ResultRow& row : results.rows("differences", id))
    differences.push_back(fmt::format("{}: expected {}, got {}: {}", row.text("kind"), without_names(row.text("expected")),
                                      without_names(row.text("got")), row.number("count")));
  for (const ResultRow& row : results.rows("counters", id))
    counters.push_back(fmt::format("{} {}", without_names(row.text("name")), row.number("value")));
  line("kinds", kinds.empty() ? "nothing differed, failed or was left out" : "not as recorded");
  print_rows(kinds, "kinds");
  line("differences", differences.empty() ? "none" : "by kind and outcome");
  print_rows(differences, "differences");
  line("counters", counters.empty() ? "none" : "of the target");
  print_rows(counters, "counters");
}

int doctor(const DoctorOptions& options) {
  // Open first, so that an error comes before all output.
  std::unique_ptr<ResultsReader> results;
  std::unique_ptr<TraceReader> trace;
  if (is_results_database(options.file))
    results = std::make_unique<ResultsReader>(options.file);
  else if (!options.file.empty())
    trace = open_trace(options.file);
  print_machine();
  int status = 0;
  if (trace) status = print_trace(std::move(trace));
  if (results) {
    const std::vector<ResultRow> runs = results->runs();
    line("runs", std::to_string(runs.size()));
    if (!runs.empty()) print_run(*results, runs.back());
  }
  fflush(stdout);
  return status;
}

}  // namespace

Run add_doctor(Command& command) {
  auto options = std::make_shared<DoctorOptions>();
  command.add("FILE", options->file, "a trace, or a --results file, whose last run is described");
  return [options] { return doctor(*options); };
}

}  // namespace fsr::fstrace
