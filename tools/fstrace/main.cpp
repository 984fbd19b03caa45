// SPDX-License-Identifier: Apache-2.0
// fstrace: looks into trace files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "subcommand.hpp"
#include "trace/series.hpp"
#include "trace/spool.hpp"
#include "util/standard_streams.hpp"

namespace fsr::fstrace {

namespace {

struct Entry {
  const char* name;
  const char* what;
  Run (*add)(Command&);
};

constexpr Entry kSubcommands[] = {
    {"info", "prints a summary of a trace, on one screen", add_info},
    {"dump", "prints the operations of a trace, one per line", add_dump},
    {"mix", "makes a mix of NFS requests like the trace, as a mixfile", add_mix},
    {"model", "learns a model of a load from traces, to be run by fsreplay", add_model},
    {"stat", "prints counts, bytes, latencies and sizes, by group and over time", add_stat},
    {"top", "shows the busiest kinds, processes and files, also during a capture", add_top},
    {"sql", "answers an SQL query on a trace", add_sql},
    {"report", "makes an HTML page with charts of a trace", add_report},
    {"compare", "prints how similar two traces are, such as a capture and a replay", add_compare},
    {"doctor", "describes machine, trace or run without names, to be sent to others", add_doctor},
    {"cut", "makes a trace with the operations of a range of time", add_cut},
    {"filter", "makes a trace with some kinds, processes, users or paths", add_filter},
    {"merge", "makes one trace from traces of several clients", add_merge},
    {"convert", "makes the same trace with other compression", add_convert},
    {"import", "makes a trace from a recording of another tool", add_import},
    {"export", "writes a trace in the format of another tool", add_export},
    {"anonymize", "makes the same trace with pseudonyms, to give to others", add_anonymize},
    {"verify", "reports damaged or missing parts of a trace", add_verify},
};

int run(int argc, char** argv) {
  Program program("fstrace", "Shows, converts and compares trace files.");
  program.common_options();
  program.require_subcommand();
  Run chosen;
  for (const Entry& e : kSubcommands) {
    Command sub = program.subcommand(e.name, e.what);
    sub.common_options();
    sub.when_chosen([&chosen, run = e.add(sub)] { chosen = run; });
  }
  try {
    if (auto status = program.parse(argc, argv)) return *status;
  } catch (const UsageError& e) {
    fprintf(stderr, "fstrace: %s (--help lists the options)\n", e.what());
    return 2;
  }
  try {
    return chosen();
  } catch (const std::exception& e) {
    if (!ferror(stdout)) fprintf(stderr, "fstrace: %s\n", e.what());
    return 2;
  }
}

}  // namespace

void add_files(Command& command, std::vector<std::string>& files) {
  command.add("FILE", files, "the trace, its series' name, or all its pieces; - is standard input").required();
}

std::unique_ptr<TraceReader> open_trace(const std::vector<std::string>& given) {
  std::vector<std::string> files;
  for (const std::string& name : given)
    for (const std::string& file : series_files(name)) files.push_back(file);
  const bool series = given.size() == 1 && names_series(given[0]);
  if (series || files.size() > 1) return std::make_unique<TraceReader>(files, series);
  const std::string& file = files[0];
  struct stat st;
  const bool standard_input = file == "-";
  if (!standard_input && (stat(file.c_str(), &st) < 0 || !S_ISFIFO(st.st_mode))) return std::make_unique<TraceReader>(file);
  const int fd = standard_input ? dup(STDIN_FILENO) : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), file);
  const int spooled = spool_to_file(fd);
  close(fd);
  return std::make_unique<TraceReader>(spooled, standard_input ? "standard input" : file);
}

}  // namespace fsr::fstrace

int main(int argc, char** argv) {
  fsr::occupy_standard_streams();
  fsr::survive_size_limits();
  return fsr::status_of_output("fstrace", fsr::fstrace::run(argc, argv));
}
