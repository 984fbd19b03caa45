// SPDX-License-Identifier: Apache-2.0
// fstrace export: a trace in a format of another tool.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "export/format.hpp"
#include "selection.hpp"
#include "subcommand.hpp"
#include "trace_output.hpp"
#include "util/output_file.hpp"
#include "util/status_line.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

constexpr const Exporter* kExporters[] = {&kFioExporter,    &kFioJobExporter,   &kStraceExporter,
                                          &kCsvExporter,    &kJsonExporter,     &kDbenchExporter,
                                          &kChromeExporter, &kBlkparseExporter, &kVdbenchExporter};
constexpr size_t kBuffer = 1 << 20;

struct ExportOptions {
  std::vector<std::string> files;
  std::string format, output;
  bool force = false;
  Selection selection;
};

std::string format_names() {
  std::string out;
  for (const Exporter* e : kExporters) out += (out.empty() ? "" : ", ") + std::string(e->name);
  return out;
}

const Exporter& exporter(const std::string& name) {
  for (const Exporter* e : kExporters)
    if (name == e->name) return *e;
  throw std::runtime_error("--format " + name + ": unknown format, expected one of " + format_names());
}

// A file that appears whole or not at all, or standard output.
class Output {
 public:
  Output(const std::string& name, bool force) : name_(name) {
    if (name != "-") file_ = std::make_unique<OutputFile>(name, force, Readers::by_umask);
    if (file_) fd_ = file_->take_fd();
  }
  ~Output() {
    if (fd_ >= 0) close(fd_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  void write(fmt::memory_buffer& text) {
    if (!file_ && fwrite(text.data(), 1, text.size(), stdout) < text.size()) throw std::runtime_error("standard output");
    if (!file_) return text.clear();
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) throw std::runtime_error(name_ + ": " + strerror(n < 0 ? errno : ENOSPC));
      done += size_t(n);
    }
    text.clear();
  }
  // A network file system may report only here that it could not store what was written.
  void commit() {
    if (!file_) return;
    const bool stored = fsync(fd_) == 0 || errno == EINVAL;
    if (!stored || close(std::exchange(fd_, -1)) != 0) throw std::runtime_error(name_ + ": " + strerror(errno));
    file_->commit();
  }

 private:
  const std::string name_;
  std::unique_ptr<OutputFile> file_;
  int fd_ = -1;
};

struct ExportCounts {
  uint64_t seen = 0, written = 0;
  std::map<OpKind, uint64_t> partly, no;
};

ExportCounts write_all(TraceReader& reader, ExportOptions& options, ExportFormat& format, Output& output) {
  ExportCounts counts;
  Paths paths;
  seek(reader, options.selection, &paths);
  StatusLine line(options.output == "-");
  OpBatch batch;
  fmt::memory_buffer text;
  format.begin(text);
  for (bool more = true; more && reader.next(batch);) {
    for (const Op& op : batch.ops) {
      if (!(more = op.start < options.selection.to())) break;
      // An object with an old and a new name is shown under the old one.
      const bool two_names = has_two_names(op);
      if (!two_names) paths.apply(op);
      if (options.selection.matches(op, paths)) {
        ++counts.seen;
        const Exported done = format.add(text, op, paths);
        counts.written += done == Exported::whole || done == Exported::partly;
        if (done == Exported::partly) ++counts.partly[op.kind];
        if (done == Exported::no) ++counts.no[op.kind];
      }
      if (two_names) paths.apply(op);
      if (text.size() >= kBuffer) output.write(text);
    }
    line.bar("exporting", reader.position_bytes(), reader.file_bytes());
  }
  format.end(text);
  output.write(text);
  return counts;
}

void print_counts(const std::map<OpKind, uint64_t>& kinds, const char* format, const char* what) {
  if (kinds.empty()) return;
  std::string text;
  for (auto [kind, n] : kinds) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_count(n), op_name(kind));
  fmt::print(stderr, "fstrace: {}: {} {}\n", format, text, what);
}

int run_export(ExportOptions& options) {
  options.selection.parse();
  const Exporter& to = exporter(options.format);
  auto reader = open_trace(options.files);
  const auto format = to.make(reader->header());
  Output output(options.output, options.force);
  const ExportCounts counts = write_all(*reader, options, *format, output);
  print_counts(counts.partly, to.name, "exported only in part");
  print_counts(counts.no, to.name, "left out: not expressible in the format, failed, or of 0 bytes");
  if (counts.written == 0) throw std::runtime_error(options.files[0] + ": no operation that " + to.name + " could express");
  output.commit();
  if (options.output != "-")
    fmt::print("{}: {} of {} operations\n", escape_text(options.output), format_count(counts.written), format_count(counts.seen));
  const int damage = report_damage(options.files[0], *reader);
  return counts.partly.empty() && counts.no.empty() ? damage : 1;
}

}  // namespace

Run add_export(Command& command) {
  auto options = std::make_shared<ExportOptions>();
  add_files(command, options->files);
  std::vector<std::string> formats;
  for (const Exporter* e : kExporters) formats.push_back(e->name);
  command.add("--format", options->format, "write this format: " + format_names()).required().often(formats);
  command.add("-o,--output", options->output, "write this file; - is standard output").required();
  command.flag("--force", options->force, "replace an existing file");
  options->selection.add_time_options(command);
  options->selection.add_options(command);
  return [options] { return run_export(*options); };
}

}  // namespace fsr::fstrace
