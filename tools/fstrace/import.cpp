// SPDX-License-Identifier: Apache-2.0
// fstrace import: what other tools have recorded, as a trace.
#include "import/import.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <system_error>

#include "import/op_order.hpp"
#include "subcommand.hpp"
#include "trace/op_limits.hpp"
#include "trace_output.hpp"
#include "util/status_line.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

constexpr size_t kWindow = 1 << 16;          // operations that may be out of order
constexpr uint64_t kMostMoved = 0x7ffff000;  // bytes of one read or write: Linux cuts what asks for more (MAX_RW_COUNT)

struct ImportCommandOptions {
  std::string input, format;
  ImportOptions import;
  OutputOptions output;
};

class TraceSink final : public ImportSink {
 public:
  TraceSink(const ImportCommandOptions& options, const Importer& importer, const ImportInput& input, uint64_t size)
      : options_(options), importer_(importer), input_(input), size_(size), order_(kWindow, [this](const Op& op) {
          write(op);
        }) {}

  void add(const Op& op) override {
    if (!order_.add(op)) note(ImportNotes::changed, "operations that were far out of order and got another start time", 1);
    if (++added_ % 4096 == 0) line_.bar("importing", input_.file_offset(), size_);
  }
  void passed(int64_t start) override { order_.passed(start); }
  const ThreadInfo* thread(int32_t tid, int32_t pid, int32_t ppid, std::string_view command) override {
    commands_.emplace_back(command.substr(0, 15));
    threads_.push_back({.id = ThreadId(threads_.size() + 1), .tid = tid, .pid = pid, .ppid = ppid, .command = commands_.back()});
    return &threads_.back();
  }
  void note(ImportNotes::Kind kind, std::string_view why, uint64_t count) override {
    auto it = notes_.counts[kind].find(why);
    if (it == notes_.counts[kind].end()) it = notes_.counts[kind].emplace(why, ImportNotes::Count{.first = input_.place()}).first;
    it->second.count += count;
  }

  int finish() {
    order_.finish();
    line_.clear();
    if (!input_.damage().empty()) note(ImportNotes::lost, "rest of the compressed input: " + input_.damage(), 1);
    if (input_.last_line_open()) note(ImportNotes::changed, "the last line has no end and may be truncated", 1);
    if (output_) {
      const std::string lacks = words(ImportNotes::lost), otherwise = words(ImportNotes::changed);
      TraceClosing closing{.clean = true, .reason = "fstrace import " + std::string(importer_.name)};
      if (!lacks.empty()) closing.reason += "; lost: " + lacks;
      if (!otherwise.empty()) closing.reason += "; changed: " + otherwise;
      closing.dropped = notes_.total(ImportNotes::lost);
      output_->finish(std::move(closing));
      report_output(options_.output, *output_, output_->operations());
    }
    report("lost", ImportNotes::lost);
    report("changed", ImportNotes::changed);
    report("left out", ImportNotes::ignored);
    if (!output_)
      throw std::runtime_error(escape_text(options_.input) + ": no operation on a file in this " + importer_.name + " input");
    return notes_.total(ImportNotes::lost) + notes_.total(ImportNotes::changed) == 0 ? 0 : 1;
  }

 private:
  void write(const Op& given) {
    Op op = given;
    if (__builtin_sub_overflow(op.start, output_ ? epoch_ : given.start, &op.start)) op.start = INT64_MAX;
    if (op.kind == OpKind::read || op.kind == OpKind::write) {
      if (op.result > kMostMoved) note(ImportNotes::changed, "reads and writes of more than 2 GiB - 4 KiB, shortened to that", 1);
      op.length = std::min(op.length, kMostMoved);
      op.result = std::min(op.result, op.length);
    }
    if (const char* what = impossible_part(op))
      return note(ImportNotes::lost, fmt::format("operations with impossible {}", what), 1);
    if (!output_) {
      epoch_ = given.start;
      output_ = std::make_unique<TraceOutput>(options_.output, header(), LiveState());
    }
    output_->add(op);
  }
  TraceHeader header() const {
    TraceHeader h;
    h.id = random_trace_id();
    h.epoch = epoch_;
    h.clock_unit = 1;
    h.program = "fstrace import " FSR_VERSION;
    h.directory = options_.import.directory;
    h.transport = fmt::format("{}; times: {}", importer_.what, importer_.clock);
    h.visibility = fmt::format("unknown after an import: {}", importer_.cannot_know);
    return h;
  }
  std::string words(ImportNotes::Kind kind) const {
    std::string out;
    for (const auto& [why, c] : notes_.counts[kind]) out += fmt::format("{}{} {}", out.empty() ? "" : "; ", c.count, why);
    return out;
  }
  void report(const char* what, ImportNotes::Kind kind) const {
    for (const auto& [why, c] : notes_.counts[kind])
      fmt::print(stderr, "fstrace: {} {}: {} (first at {})\n", what, format_count(c.count), why, c.first);
  }

  const ImportCommandOptions& options_;
  const Importer& importer_;
  const ImportInput& input_;
  const uint64_t size_;
  OpOrder order_;
  StatusLine line_{false};
  std::unique_ptr<TraceOutput> output_;
  std::deque<ThreadInfo> threads_;
  std::deque<std::string> commands_;
  ImportNotes notes_;
  uint64_t added_ = 0;
  int64_t epoch_ = 0;
};

template <class Fits>
const Importer* first_importer(Fits fits) {
  const auto all = importers();
  const auto it = std::find_if(all.begin(), all.end(), fits);
  return it == all.end() ? nullptr : *it;
}

std::string importer_names() {
  std::string out;
  for (const Importer* i : importers()) out += (out.empty() ? "" : ", ") + std::string(i->name);
  return out;
}

// Number behind the version in a log of Darshan, in the byte order of the machine that wrote it.
constexpr std::string_view kDarshanMagic("\x37\x35\x64\0\0\0\0", 8), kDarshanMagicSwapped("\0\0\0\0\0\x64\x35\x37", 8);

int import(ImportCommandOptions& options) {
  if (options.import.directory.empty()) throw std::runtime_error("--directory: expected a directory, found ''");
  options.import.directory = std::filesystem::absolute(options.import.directory).lexically_normal();
  const Importer* importer =
      options.format.empty() ? nullptr : first_importer([&](const Importer* i) { return options.format == i->name; });
  if (!options.format.empty() && !importer)
    throw std::runtime_error("--format " + options.format + ": unknown format, expected one of " + importer_names());
  const bool standard_input = options.input == "-";
  const int fd = standard_input ? dup(STDIN_FILENO) : open(options.input.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat st {};
  if (fd < 0 || fstat(fd, &st) < 0) throw std::system_error(errno, std::generic_category(), options.input);
  ImportInput input(fd, standard_input ? "standard input" : options.input);
  const std::string_view head = input.head();
  if (head.empty() && !input.damage().empty())
    throw std::runtime_error(escape_text(input.name()) + ": compressed input is damaged: " + input.damage());
  if (head.empty()) throw std::runtime_error(escape_text(input.name()) + ": is empty");
  if (looks_like_trace(head)) throw std::runtime_error(escape_text(input.name()) + ": is a trace already and requires no import");
  if (!importer) importer = first_importer([&](const Importer* i) { return i->sniff(head); });
  if (!importer && head.size() > 16 && (head.substr(8, 8) == kDarshanMagic || head.substr(8, 8) == kDarshanMagicSwapped))
    throw std::runtime_error(escape_text(input.name()) +
                             ": is a log of Darshan itself; import the text that darshan-dxt-parser prints of it");
  if (!importer)
    throw std::runtime_error(escape_text(input.name()) + ": not recognized as any of " + importer_names() +
                             "; name the format with --format");
  TraceSink sink(options, *importer, input, uint64_t(st.st_size));
  importer->run(input, options.import, sink);
  return sink.finish();
}

}  // namespace

Run add_import(Command& command) {
  auto options = std::make_shared<ImportCommandOptions>();
  command.add("INPUT", options->input, "file to import; - is standard input").required();
  options->output.add(command);
  std::vector<std::string> formats;
  for (const Importer* i : importers()) formats.push_back(i->name);
  command.add("--format", options->format, "read this format: " + importer_names() + " (default: by content)").often(formats);
  command.add("--directory", options->import.directory, "import only paths below this directory (default /)");
  return [options] { return import(*options); };
}

}  // namespace fsr::fstrace
