// SPDX-License-Identifier: Apache-2.0
// fstrace dump: operations, one per line, as text or as JSON lines.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "op_text.hpp"
#include "subcommand.hpp"
#include "trace/live_state.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

struct Options {
  std::string file, from, to, kind;
  bool json = false;
};

int dump(const Options& options) {
  OpKind kind = OpKind::null;
  if (!options.kind.empty() && !op_from_name(options.kind, &kind))
    throw std::runtime_error("--op " + options.kind + ": no such kind of operation (fstrace info lists those in a trace)");
  const int64_t from = options.from.empty() ? INT64_MIN : parse_duration(options.from);
  const int64_t to = options.to.empty() ? INT64_MAX : parse_duration(options.to);
  auto reader = open_trace(options.file);
  Paths paths;
  if (from > 0) {
    LiveState state;
    reader->load_state(from, state);
    state.each_name(
        [&](ObjectId parent, std::string_view name, ObjectId object, uint32_t) { paths.learn(parent, name, object); });
  }
  OpBatch batch;
  fmt::memory_buffer out;
  for (bool more = true; more && reader->next(batch);) {
    for (const Op& op : batch.ops) {
      if (!(more = op.start < to)) break;
      // An operation is shown with the names as they were before it, and with its own.
      if (op.kind != OpKind::rename) paths.apply(op);
      if (options.kind.empty() || op.kind == kind) (options.json ? op_json : op_text)(out, op, paths);
      if (op.kind == OpKind::rename) paths.apply(op);
    }
    fwrite(out.data(), 1, out.size(), stdout);
    out.clear();
  }
  fflush(stdout);
  for (const TraceDamage& d : reader->damage()) fprintf(stderr, "fstrace: %s: %s\n", options.file.c_str(), d.what.c_str());
  return reader->damage().empty() ? 0 : 1;
}

}  // namespace

Run add_dump(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("FILE", options->file, "the trace, or - for standard input")->required();
  app.add_flag("--json", options->json, "one JSON object per line");
  app.add_option("--from", options->from, "begin at this time since the start (30s, 5m)");
  app.add_option("--to", options->to, "end before this time since the start");
  app.add_option("--op", options->kind, "only operations of this kind (read, lookup, ...)");
  return [options] { return dump(*options); };
}

}  // namespace fsr::fstrace
