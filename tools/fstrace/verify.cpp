// SPDX-License-Identifier: Apache-2.0
// fstrace verify: reads everything and says what is damaged or missing, by block and time.
#include <algorithm>
#include <cstdio>

#include "json_out.hpp"
#include "subcommand.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

struct VerifyOptions {
  std::vector<std::string> files;
  bool json = false;
};

std::string span(const TraceDamage& d) {
  if (d.to < 0) return fmt::format("from {} on", format_duration(d.from));
  if (d.from == d.to) return fmt::format("at {}", format_duration(d.from));
  return fmt::format("between {} and {}", format_duration(d.from), format_duration(d.to));
}

int verify(const VerifyOptions& options) {
  auto reader = open_trace(options.files);
  uint64_t operations = 0, unfinished = 0;
  OpBatch batch;
  while (reader->next(batch))
    for (const Op& op : batch.ops) {
      ++operations;
      unfinished += op.has(kOpUnfinished);
    }
  reader->check_checkpoints();

  std::vector<TraceDamage> problems = reader->damage();
  auto also = [&](const std::string& what) {
    problems.push_back({.file_offset = reader->file_bytes(), .from = reader->end_time(), .to = -1, .what = what});
  };
  if (const TraceClosing* c = reader->closing()) {
    constexpr const char* kDropped = "{} operations were not recorded";
    uint64_t dropped = c->dropped;
    for (const DroppedSpan& d : c->dropped_spans) {
      problems.push_back({.from = d.from, .to = d.to, .what = fmt::format(kDropped, format_count(d.operations))});
      dropped -= std::min(dropped, d.operations);
    }
    if (dropped) also(fmt::format(kDropped, format_count(dropped)));
    if (!c->clean) also("the recorder did not end cleanly: " + escape_text(c->reason));
    if (c->operations != operations && reader->damage().empty())
      also(fmt::format("expected {} operations, as the closing statement says, found {}", format_count(c->operations),
                       format_count(operations)));
  }

  if (options.json) {
    fmt::memory_buffer out;
    JsonOut json(out);
    json.open('{');
    json.member_text("file", options.files[0]);
    json.member("ok", problems.empty());
    json.member("closed", reader->closing() != nullptr);
    json.member("operations", operations);
    json.member("unfinished", unfinished);
    json.member("blocks", reader->blocks());
    json.member("bytes", reader->file_bytes());
    json.key("problems");
    json.open('[');
    for (const TraceDamage& d : problems) {
      json.open('{');
      json.member_text("what", d.what);
      json.member("offset", d.file_offset);
      json.member("bytes", d.file_bytes);
      json.member("from", d.from);
      if (d.to >= 0) json.member("to", d.to);
      json.close('}');
    }
    json.close(']');
    json.close('}');
    out.push_back('\n');
    fwrite(out.data(), 1, out.size(), stdout);
    return problems.empty() ? 0 : 1;
  }
  for (const TraceDamage& d : problems)
    fmt::print("{}: {};{} operations that started {} are affected\n", escape_text(options.files[0]), d.what,
               d.file_bytes == 0 ? "" : fmt::format(" {} bytes at offset {};", d.file_bytes, d.file_offset), span(d));
  fmt::print("{}: {} operations in {} blocks read, {} unfinished: {}\n", escape_text(options.files[0]), format_count(operations),
             format_count(reader->blocks()), format_count(unfinished),
             problems.empty() ? "complete" : fmt::format("{} problem{}", problems.size(), problems.size() == 1 ? "" : "s"));
  return problems.empty() ? 0 : 1;
}

}  // namespace

Run add_verify(Command& command) {
  auto options = std::make_shared<VerifyOptions>();
  add_files(command, options->files);
  command.flag("--json", options->json, "print JSON on standard output");
  return [options] { return verify(*options); };
}

}  // namespace fsr::fstrace
