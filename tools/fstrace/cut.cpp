// SPDX-License-Identifier: Apache-2.0
// fstrace cut writes the operations of a stretch of time, and the known tree at its start. All operations, compressed in another
// way, are written by fstrace convert.
#include <algorithm>

#include "selection.hpp"
#include "subcommand.hpp"
#include "trace_output.hpp"
#include "util/status_line.hpp"

namespace fsr::fstrace {

namespace {

struct CutOptions {
  const char* subcommand = "";
  std::vector<std::string> files;
  Selection selection;
  OutputOptions output;
};

int cut(CutOptions& options) {
  options.selection.parse();
  const Selection& selection = options.selection;
  const std::string words = selection.words();
  if (words.empty() && options.subcommand == std::string_view("cut"))
    throw std::runtime_error("cut: expected --from, --to or both (fstrace convert copies all of a trace)");
  auto reader = open_trace(options.files);
  LiveState state;
  reader->load_state(selection.from(), state);
  // Time begins anew with the cut, at the same wall clock.
  const int64_t shift = std::max<int64_t>(selection.from(), 0);
  TraceHeader header = edited(reader->header(), options.subcommand + (words.empty() ? "" : " " + words));
  header.epoch += shift;
  if (!words.empty()) header.nfs = {};
  TraceOutput output(options.output, header, std::move(state));
  StatusLine line(false);
  OpBatch batch;
  for (bool more = true; more && reader->next(batch);) {
    for (Op& op : batch.ops) {
      if (!(more = op.start < selection.to())) break;
      op.start -= shift;
      output.add(op);
    }
    line.bar(options.subcommand, reader->position_bytes(), reader->file_bytes());
  }
  line.clear();
  if (!words.empty() && output.operations() == 0)
    throw std::runtime_error(options.files.front() + ": no operation started in this time");
  TraceClosing closing = closing_after(*reader, options.subcommand, {selection.from(), selection.to(), -shift});
  if (words.empty() && reader->closing()) {
    closing.end = reader->closing()->end;
    closing.nfs = reader->closing()->nfs;
  }
  output.finish(std::move(closing));
  report_output(options.output, output, words.empty() ? output.operations() : reader->operations());
  return report_damage(options.files.front(), *reader);
}

Run add(Command& command, const char* subcommand) {
  auto options = std::make_shared<CutOptions>();
  options->subcommand = subcommand;
  add_files(command, options->files);
  options->output.add(command);
  if (subcommand == std::string_view("cut")) options->selection.add_time_options(command);
  return [options] { return cut(*options); };
}

}  // namespace

Run add_cut(Command& command) { return add(command, "cut"); }
Run add_convert(Command& command) { return add(command, "convert"); }

}  // namespace fsr::fstrace
