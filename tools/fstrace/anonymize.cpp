// SPDX-License-Identifier: Apache-2.0
// fstrace anonymize: the same trace under pseudonyms, and back; with --check, whether one gives anything of another away.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "anonymize/anonymizer.hpp"
#include "leak_check.hpp"
#include "model/model_file.hpp"
#include "subcommand.hpp"
#include "trace/series.hpp"
#include "trace_output.hpp"
#include "util/status_line.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

constexpr size_t kLeastKey = 16, kMostKey = 1 << 16;  // bytes
constexpr const char* kEdit = "anonymize, key ";

struct AnonymizeOptions {
  std::vector<std::string> files, markers;
  std::string key, original;
  bool reverse = false;
  OutputOptions output;
};

std::string read_key(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::runtime_error(file + ": " + strerror(errno) + " (head -c 32 /dev/urandom >" + file + " creates a key)");
  std::string key(kMostKey, '\0');
  size_t size = 0;
  ssize_t n;
  while (size < key.size() && (n = read(fd, key.data() + size, key.size() - size)) > 0) size += size_t(n);
  close(fd);
  if (size < kLeastKey) throw std::runtime_error(fmt::format("{}: expected a key of at least {} bytes", file, kLeastKey));
  key.resize(size);
  return key;
}

// Checks the key against the header's mark, before anything is written.
void check_key(const TraceHeader& header, const std::string& mark, const AnonymizeOptions& options) {
  const std::string& last = header.edits.empty() ? std::string() : header.edits.back();
  const bool anonymous = last.rfind(kEdit, 0) == 0;
  const std::string& file = options.files.front();
  if (options.reverse && !anonymous) throw std::runtime_error(file + ": was not written by fstrace anonymize");
  if (options.reverse && last != kEdit + mark)
    throw std::runtime_error(file + ": was anonymized with another key than " + options.key);
  if (!options.reverse && anonymous) throw std::runtime_error(file + ": is anonymized already; expected the original trace");
}

int rename_all(const AnonymizeOptions& options) {
  auto reader = open_trace(options.files);
  Anonymizer anonymizer(read_key(options.key), options.reverse);
  check_key(reader->header(), anonymizer.key_mark(), options);
  LiveState state;
  reader->load_state(INT64_MIN, state);
  TraceHeader header = anonymizer.map(reader->header());
  header.version = kTraceVersion;
  header.piece = 1;
  header.id = random_trace_id();
  header.edits = {options.reverse ? "anonymize --reverse" : kEdit + anonymizer.key_mark()};
  TraceOutput output(options.output, header, anonymizer.map(state));
  StatusLine line(false);
  Arena arena;
  for (OpBatch batch; reader->next(batch);) {
    arena.clear();
    for (const Op& op : batch.ops) output.add(anonymizer.map(op, arena));
    line.bar("anonymize", reader->position_bytes(), reader->file_bytes());
  }
  line.clear();
  // The recorder's reason for ending may contain names, as these lists do.
  TraceClosing closing = closing_after(*reader, "anonymize");
  closing.mounts_below.clear();
  closing.not_seen.clear();
  if (!closing.clean) closing.reason = "fstrace anonymize; the original was not complete";
  if (reader->closing()) closing.end = reader->closing()->end;
  output.finish(std::move(closing));
  report_output(options.output, output, output.operations());
  if (anonymizer.fingerprinted())
    fmt::print("the content of {} reads and writes was replaced by fingerprints and can't be restored\n",
               format_count(anonymizer.fingerprinted()));
  if (anonymizer.hashed() && !options.reverse)
    fmt::print("{} names are too long for pseudonyms that --reverse can restore\n", format_count(anonymizer.hashed()));
  return report_damage(options.files.front(), *reader);
}

int check(const AnonymizeOptions& options) {
  LeakCheck check;
  auto original = open_trace(options.original);
  check.learn(*original);
  for (const std::string& marker : options.markers) check.add_marker(marker);
  std::unique_ptr<TraceReader> trace;
  if (options.files.size() == 1 && is_model_file(options.files.front())) {
    const LoadModel model = read_model(options.files.front());
    for (const ProcessClass& c : model.classes) check.check_string(c.command);
    check.check_string(model.program);
    check.check_bytes(options.files.front());
  } else {
    trace = open_trace(options.files);
    check.check_strings(*trace);
  }
  for (const std::string& name : options.files)
    if (trace)
      for (const std::string& file : series_files(name)) check.check_bytes(file);
  const std::string& file = options.files.front();
  for (const std::string& leak : check.leaks()) fmt::print("{}: {}\n", escape_text(file), leak);
  if (check.count() > check.leaks().size())
    fmt::print("{}: names or content of the original found in {} places\n", escape_text(file), format_count(check.count()));
  if (!check.count())
    fmt::print("{}: contains none of {} names, commands and hosts of {}\n", escape_text(file), format_count(check.secrets()),
               escape_text(options.original));
  const int damage = report_damage(options.original, *original) | (trace ? report_damage(file, *trace) : 0);
  return check.count() ? 1 : damage;
}

int anonymize(const AnonymizeOptions& options) {
  const bool checks = !options.original.empty();
  if (checks && (!options.output.file.empty() || !options.key.empty() || options.reverse))
    throw std::runtime_error("anonymize --check: not possible with --key, --reverse or --output, because --check writes nothing");
  if (!checks && !options.markers.empty()) throw std::runtime_error("anonymize --marker: requires --check");
  if (!checks && options.key.empty()) throw std::runtime_error("anonymize: expected --key, or --check");
  if (!checks && options.output.file.empty()) throw std::runtime_error("anonymize: expected --output");
  return checks ? check(options) : rename_all(options);
}

}  // namespace

Run add_anonymize(Command& command) {
  auto options = std::make_shared<AnonymizeOptions>();
  add_files(command, options->files);
  command.add("--key", options->key, "read the key from this file of at least 16 random bytes; only this file can restore names");
  command.flag("--reverse", options->reverse, "turn pseudonyms back into names");
  command.add("--check", options->original, "search FILE for names and content of this trace, the original");
  command.add("--marker", options->markers, "search for this text of 12 bytes or more, too (with --check)").repeatable();
  options->output.add(command);
  command.option("--output").required(false);
  return [options] { return anonymize(*options); };
}

}  // namespace fsr::fstrace
