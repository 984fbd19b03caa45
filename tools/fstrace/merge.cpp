// SPDX-License-Identifier: Apache-2.0
// fstrace merge: traces of several clients as one, in the order of their clocks.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "merge_ids.hpp"
#include "subcommand.hpp"
#include "trace_output.hpp"
#include "util/status_line.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

constexpr const char* kTooFar = ": times are beyond the range of 292 years; check --offset and --align";

struct MergeOptions {
  std::vector<std::string> files, offsets;
  std::string align = "clock";
  bool apart = false;
  OutputOptions output;
};

// One trace while it is read: its next operation, in merged time.
struct Input {
  std::string file;
  std::unique_ptr<TraceReader> reader;
  int64_t offset = 0;  // as given by the user, ns
  ClientRange clients;
  int64_t shift = 0;  // ns to add to times of this file, so that they become times of the merged trace
  OpBatch batch;
  size_t at = 0;

  const Op* next() {
    while (at >= batch.ops.size()) {
      if (!reader->next(batch)) return nullptr;
      at = 0;
    }
    return &batch.ops[at];
  }
  int64_t start() {
    int64_t sum = 0;
    if (__builtin_add_overflow(next()->end(), shift, &sum) || __builtin_add_overflow(next()->start, shift, &sum))
      throw std::runtime_error(file + kTooFar);
    return sum;
  }
};

// "2=+1.5ms": the second trace's clock is set forward by that much.
void parse_offset(const std::string& text, std::vector<Input>& inputs) {
  const size_t equals = text.find('=');
  const std::string expected = fmt::format(
      "--offset {}: expected the number of a trace (1 to {}) and a time, as in 2=+1.5ms or 2=-3s", text, inputs.size());
  if (equals == std::string::npos || equals + 1 == text.size()) throw std::runtime_error(expected);
  size_t number = 0;
  for (char c : text.substr(0, equals))
    number = c >= '0' && c <= '9' && number < 100'000 ? number * 10 + size_t(c - '0') : inputs.size() + 1;
  if (number < 1 || number > inputs.size()) throw std::runtime_error(expected);
  std::string time = text.substr(equals + 1);
  const bool back = time[0] == '-';
  if (back || time[0] == '+') time.erase(0, 1);
  inputs[number - 1].offset = parse_duration(time) * (back ? -1 : 1);
}

int64_t wall_clock(const Input& in, const MergeOptions& options) {
  int64_t at = 0;
  if (__builtin_add_overflow(options.align == "clock" ? in.reader->header().epoch : 0, in.offset, &at))
    throw std::runtime_error(in.file + kTooFar);
  return at;
}

constexpr uint32_t kMostClients = 1'000'000;

// Gives each client of each trace a number.
void number_clients(std::vector<Input>& inputs) {
  uint32_t next = 1;
  for (Input& in : inputs) {
    in.clients.first = next;
    for (const std::string& edit : in.reader->header().edits)
      if (unsigned n = 0; sscanf(edit.c_str(), "merge: client %u is trace", &n) == 1 && n <= kMostClients)
        in.clients.count = std::max<uint32_t>(in.clients.count, n);
    next += in.clients.count;
  }
}

// Adds what was done to the trace, with the numbers that its clients have now.
void add_edits(const Input& in, std::vector<std::string>& edits) {
  const TraceHeader& h = in.reader->header();
  const uint32_t first = in.clients.first;
  std::string clock;
  if (in.offset)
    clock = fmt::format(", clock {} by {}", in.offset < 0 ? "back" : "forward", format_duration(std::abs(in.offset)));
  if (in.clients.count == 1)
    edits.push_back(
        fmt::format("merge: client {} is trace {} of {}{}", first, h.id, h.host.empty() ? "an unknown host" : h.host, clock));
  for (const std::string& edit : h.edits) {
    unsigned n = 0;
    int end = 0;
    if (in.clients.count == 1)
      edits.push_back(fmt::format("client {}: {}", first, edit));
    else if (sscanf(edit.c_str(), "merge: client %u is trace%n", &n, &end) == 1 && end)
      edits.push_back(fmt::format("merge: client {} is trace{}{}", first + n - 1, edit.substr(size_t(end)), clock));
    else if (sscanf(edit.c_str(), "client %u:%n", &n, &end) == 1 && end)
      edits.push_back(fmt::format("client {}:{}", first + n - 1, edit.substr(size_t(end))));
    else
      edits.push_back(fmt::format("clients {} to {}: {}", first, first + in.clients.count - 1, edit));
  }
}

// Converts the times of all traces to those of the trace that begins first. Returns a header that names the clients.
TraceHeader align(std::vector<Input>& inputs, const MergeOptions& options) {
  const Input& first = *std::min_element(inputs.begin(), inputs.end(), [&](const Input& a, const Input& b) {
    return wall_clock(a, options) < wall_clock(b, options);
  });
  const int64_t epoch = wall_clock(first, options);
  TraceHeader header = first.reader->header();
  uint64_t unit = 0;
  header.host.clear();
  header.identity = {};
  header.nfs = {};
  header.not_seen.clear();
  header.edits.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    Input& in = inputs[i];
    const TraceHeader& h = in.reader->header();
    if (__builtin_sub_overflow(wall_clock(in, options), epoch, &in.shift)) throw std::runtime_error(in.file + kTooFar);
    unit = std::gcd(unit, std::gcd(uint64_t(h.clock_unit), uint64_t(in.shift)));
    header.host += (i ? "," : "") + h.host;
    if (h.directory != header.directory) header.directory = "various";
    if (h.content != header.content) header.content = "none";
    if (h.command != header.command) header.command.clear();
    header.not_seen.insert(header.not_seen.end(), h.not_seen.begin(), h.not_seen.end());
    add_edits(in, header.edits);
  }
  header.version = kTraceVersion;
  header.piece = 1;
  header.id = random_trace_id();
  header.epoch = options.align == "clock" ? epoch : first.reader->header().epoch;
  header.clock_unit = uint32_t(std::clamp<uint64_t>(unit, 1, first.reader->header().clock_unit));
  return header;
}

TraceClosing closing(const std::vector<Input>& inputs) {
  TraceClosing out;
  out.clean = true;
  out.reason = "fstrace merge";
  for (const Input& in : inputs) {
    const TraceClosing one = closing_after(*in.reader, "merge", {.shift = in.shift});
    if (out.clean && !one.clean) out.reason = one.reason;
    out.clean &= one.clean;
    out.dropped += one.dropped;
    out.dropped_spans.insert(out.dropped_spans.end(), one.dropped_spans.begin(), one.dropped_spans.end());
    for (size_t kind = 0; kind < out.filtered.size(); ++kind) out.filtered[kind] += one.filtered[kind];
    out.mounts_below.insert(out.mounts_below.end(), one.mounts_below.begin(), one.mounts_below.end());
    out.not_seen.insert(out.not_seen.end(), one.not_seen.begin(), one.not_seen.end());
    out.waited += one.waited;
  }
  std::stable_sort(out.dropped_spans.begin(), out.dropped_spans.end(),
                   [](const DroppedSpan& a, const DroppedSpan& b) { return a.from < b.from; });
  return out;
}

int merge(const MergeOptions& options) {
  std::vector<Input> inputs(options.files.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].file = options.files[i];
    inputs[i].reader = open_trace(options.files[i]);
  }
  for (const std::string& text : options.offsets) parse_offset(text, inputs);
  number_clients(inputs);
  const TraceHeader header = align(inputs, options);

  std::vector<ClientRange> clients;
  for (const Input& in : inputs) clients.push_back(in.clients);
  MergedIds ids(clients, options.apart);
  for (size_t i = 0; i < inputs.size(); ++i) {
    LiveState state;
    inputs[i].reader->load_state(INT64_MIN, state);
    ids.add_state(i, state);
  }
  LiveState initial;
  if (!initial.restore(ids.state().serialize()))
    throw std::runtime_error(
        "the files at the start of the traces can't be merged; --apart keeps the files of each client apart");

  TraceOutput output(options.output, header, std::move(initial));
  StatusLine line(false);
  uint64_t bytes = 0;
  for (const Input& in : inputs) bytes += in.reader->file_bytes();
  Arena arena;
  for (uint64_t n = 0;; ++n) {
    Input* earliest = nullptr;
    for (Input& in : inputs)
      if (in.next() && (!earliest || in.start() < earliest->start())) earliest = &in;
    if (!earliest) break;
    arena.clear();
    Op op = ids.map(size_t(earliest - inputs.data()), *earliest->next(), arena);
    op.start = earliest->start();
    ++earliest->at;
    output.add(op);
    if (n % 2048) continue;
    uint64_t read = 0;
    for (const Input& in : inputs) read += in.reader->position_bytes();
    line.bar("merge", read, bytes);
  }
  line.clear();
  output.finish(closing(inputs));
  report_output(options.output, output, output.operations());
  int status = 0;
  for (const Input& in : inputs) status |= report_damage(in.file, *in.reader);
  return status;
}

}  // namespace

Run add_merge(Command& command) {
  auto options = std::make_shared<MergeOptions>();
  command.add("FILES", options->files, "the traces, client 1 first").required().count_within(2, 1000);
  options->output.add(command);
  command
      .add("--align", options->align, "align times by the hosts' clocks (clock, default), or so that all begin together (start)")
      .one_of({"clock", "start"});
  command.add("--offset", options->offsets, "set the clock of trace N forward by TIME (N=TIME), or back with a minus")
      .repeatable();
  command.flag("--apart", options->apart, "put the files of each trace into a directory of their own, client-N");
  return [options] { return merge(*options); };
}

}  // namespace fsr::fstrace
