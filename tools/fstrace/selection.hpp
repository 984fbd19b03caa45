// SPDX-License-Identifier: Apache-2.0
// Which operations a subcommand works on: by time, kind, process, user and path. One set of options for all that select.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "op_text.hpp"
#include "trace/live_state.hpp"
#include "trace/reader.hpp"
#include "util/command.hpp"

namespace fsr::fstrace {

// Options as given. parse() throws std::exception with one line for what can't be understood.
class Selection {
 public:
  void add_time_options(Command& command);
  void add_options(Command& command);  // --op, --process, --uid, --path
  void parse();

  int64_t from() const { return from_; }  // ns; INT64_MIN: from the beginning
  int64_t to() const { return to_; }      // ns, exclusive; INT64_MAX: to the end
  bool everything() const { return !kinds_.any() && pids_.empty() && commands_.empty() && uids_.empty() && paths_.empty(); }
  bool by_path() const { return !paths_.empty(); }

  // All but the time. `paths` as they were when the operation began, or with its own names; used with --path only.
  bool matches(const Op& op, const Paths& paths) const;
  // The selection as options: "--from 10s --op read".
  std::string words() const;

 private:
  bool path_matches(const std::string& path) const;

  struct OptionTexts {
    std::string from, to;
    std::vector<std::string> kinds, processes, uids, paths;
  } given_;
  int64_t from_ = INT64_MIN, to_ = INT64_MAX;
  std::bitset<kOpKinds> kinds_;
  std::vector<int32_t> pids_;
  std::vector<std::string> commands_, paths_;
  std::vector<uint32_t> uids_;
};

// Adds the names of a state.
void learn(const LiveState& state, Paths& paths);
// Makes `reader` stand at the first operation at or after selection.from() and, with `paths`, learns the names known by then.
void seek(TraceReader& reader, const Selection& selection, Paths* paths);

}  // namespace fsr::fstrace
