// SPDX-License-Identifier: Apache-2.0
// fstrace dump: operations, one per line, as text or as JSON lines.
#include <algorithm>
#include <cstdio>

#include "op_text.hpp"
#include "selection.hpp"
#include "stream.hpp"
#include "subcommand.hpp"
#include "trace_output.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

struct DumpOptions {
  std::vector<std::string> files;
  Selection selection;
  bool json = false;
  bool flushes = false;  // a stream is shown as it comes
};

// Reports that the range has no operations, and which range the trace has.
int outside(const DumpOptions& options, int64_t begin, const TraceClosing* closing) {
  fprintf(stderr, "fstrace: %s: no operations in that range; the trace begins at %s", options.files[0].c_str(),
          format_duration(begin).c_str());
  if (closing) fprintf(stderr, " and ends at %s", format_duration(closing->end).c_str());
  fprintf(stderr, "\n");
  return 2;
}

// Adds the operation to what is printed, if it is selected.
void show(fmt::memory_buffer& out, const Op& op, const DumpOptions& options, Paths& paths) {
  // An operation is shown with the names as they were before it, and with its own.
  const bool two_names = has_two_names(op);
  if (!two_names) paths.apply(op);
  if (options.selection.matches(op, paths)) (options.json ? op_json : op_text)(out, op, paths);
  if (two_names) paths.apply(op);
}

// Prints an operation again that was printed as unfinished, now that its end has come.
void print_late(const Op& end, const DumpOptions& options, Paths& paths) {
  if (end.start < options.selection.from() || end.start >= options.selection.to()) return;
  fmt::memory_buffer out;
  show(out, end, options, paths);
  fwrite(out.data(), 1, out.size(), stdout);
  fflush(stdout);
}

// Prints what the source has. False: nothing was in the range.
bool print(OpSource& source, const DumpOptions& options, Paths& paths) {
  OpBatch batch;
  bool any = options.selection.from() == INT64_MIN && options.selection.to() == INT64_MAX;
  fmt::memory_buffer out;
  for (bool more = true; more && source.next(batch) && !ferror(stdout);) {
    for (const Op& op : batch.ops) {
      if (!(more = op.start < options.selection.to())) break;
      any = true;
      show(out, op, options, paths);
    }
    fwrite(out.data(), 1, out.size(), stdout);
    if (options.flushes) fflush(stdout);
    out.clear();
  }
  fflush(stdout);
  return any;
}

int dump(DumpOptions& options) {
  options.selection.parse();
  Paths paths;
  if (const auto stream = open_stream(options.files, false)) {
    options.flushes = true;
    stream->on_late_end([&](const Op& end) { print_late(end, options, paths); });
    SelectedStream selected(*stream, options.selection, &paths);
    const bool any = print(selected, options, paths);
    if (!any && stream->damage().empty()) return outside(options, 0, stream->closing());
    // The rest is not wanted.
    return options.selection.to() != INT64_MAX && stream->damage().empty() ? 0 : report_stream(options.files[0], *stream);
  }
  auto reader = open_trace(options.files);
  seek(*reader, options.selection, &paths);
  const bool any = print(*reader, options, paths);
  if (!any && reader->damage().empty()) return outside(options, reader->begin_time(), reader->closing());
  return report_damage(options.files[0], *reader);
}

}  // namespace

Run add_dump(Command& command) {
  auto options = std::make_shared<DumpOptions>();
  add_files(command, options->files);
  command.flag("--json", options->json, "print one JSON object per line");
  options->selection.add_time_options(command);
  options->selection.add_options(command);
  return [options] { return dump(*options); };
}

}  // namespace fsr::fstrace
