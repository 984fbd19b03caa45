// SPDX-License-Identifier: Apache-2.0
// What can be run on a target: a captured trace, a mix of NFS calls. An input is an image, which must exist before the start, and
// a source of operations; the engine and the report know no more of it.
//
// An input may consist of several rounds (loads of a ramp), each with its image and its operations. Adding a kind of input is one
// file pair here and one line in the table of registry.cpp. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "inputs/workload_options.hpp"
#include "op_source.hpp"
#include "plan/image.hpp"
#include "trace/header.hpp"
#include "trace/live_state.hpp"

namespace fsr {

class Clock;
class Target;
struct Report;
struct RunOptions;

class Input {
 public:
  using ShowProgress = std::function<void(uint64_t done, uint64_t total)>;

  virtual ~Input() = default;
  virtual const TraceHeader& header() const = 0;
  virtual int64_t begin_time() const { return 0; }  // recorded time of the first operation there can be
  // The root of the target is not the input's own: it need not be empty, carries no marker, and what in it has a name that
  // `ours` accepts is all that may be removed. Null: a tree of its own.
  using OwnNames = bool (*)(std::string_view name);
  virtual OwnNames own_names() const { return nullptr; }

  // Whether there is a round (left). Before the first and between two of them.
  virtual bool next_round() = 0;
  // What must exist. Throws std::runtime_error, one line, for what can't be run on that target.
  virtual Image image(const Target& target, const ImageOptions& options, const ShowProgress& progress) = 0;
  // The operations from the beginning of `options`' range, and what of the options follows from the input. Valid until the next
  // call of next_round().
  virtual OpSource& operations(const ImageOptions& image, RunOptions& options) = 0;
  // What is known of the tree before them. Nothing, unless a recording tells.
  virtual LiveState before(const ImageOptions&) { return {}; }
  // What ends that round: closes what its image opened. May be null.
  virtual std::unique_ptr<OpSource> closing() { return nullptr; }
  // Adds what is to be said about the input: before the run what is known, after it what came of it.
  virtual void describe(Report& report) const = 0;
};

// Ends a round that was run with `of`: performs its closing(), unless the run was stopped: who stops it waits for nothing more.
// What went wrong, one line, or nothing: the run is over, and its report is due all the same.
std::string close_input(Input& input, Target& target, Clock& clock, const RunOptions& of);

struct InputPlugin {
  const char* help;  // one line for `fsreplay --help`
  // Whether that is such an input, from its name and its first bytes (none where there is no such file).
  bool (*sniff)(const std::string& name, std::string_view first_bytes);
  // `fd` is a file that can be seeked, taken over: what `name` is, or a copy of what a pipe held. -1 where there is none. Throws
  // std::runtime_error, one line.
  std::unique_ptr<Input> (*open)(const std::string& name, int fd, const WorkloadOptions& options);
};

std::span<const InputPlugin* const> input_plugins();
// `name`: a file, "-" for standard input, or what a plugin knows by name. Throws std::runtime_error, one line.
std::unique_ptr<Input> open_input(const std::string& name, const WorkloadOptions& options);

}  // namespace fsr
