// SPDX-License-Identifier: Apache-2.0
// Something that can be run on a target: a captured trace, or a mix of NFS calls. It consists of an image, which must exist
// before the start, and a source of operations. The engine and the report know nothing else about it.
//
// An input may consist of several rounds, for example the loads of a ramp. Each round has its own image and operations. One
// thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/run.hpp"
#include "inputs/rank_share.hpp"
#include "op_source.hpp"
#include "plan/image.hpp"
#include "trace/header.hpp"
#include "trace/live_state.hpp"

namespace fsr {

class Clock;
class Target;
struct Report;

// Minimum size of a run whose figures are reliable.
struct RunLength {
  uint64_t operations = 0;
  int64_t time = 0;  // ns
};

// Unit in which the load of an input is reported: "7.3 times the captured load", "1480 calls/s".
struct LoadUnit {
  double one = 1;  // load of the command line in this unit, for the factor 1
  const char* words = "";
};

// An input whose calls depend on what the target has answered.
class GeneratedLoad {
 public:
  virtual ~GeneratedLoad() = default;
  // Measures on the target what the load depends on. Called between the preparation and Input::operations().
  virtual void rehearse(Target& target, Clock& clock, const RunOptions& options) = 0;
  // Runs the round; only if Input::operations() has returned null. `options`: those that it got.
  virtual RunResult run(Target& target, Clock& clock, const RunOptions& options) = 0;
};

// Calls that all inputs support. RankShare has those that only several ranks need.
class Input : public RankShare {
 public:
  using ShowProgress = std::function<void(uint64_t done, uint64_t total)>;

  virtual GeneratedLoad* generated() { return nullptr; }  // null: the input has recorded operations
  virtual const TraceHeader& header() const = 0;
  // Returns the options of the command line that shape the operations: "--timing think --scale 4x".
  virtual std::string settings() const = 0;
  // Returns a function if the input works in the root of the target itself. The root then need not be empty and gets no marker.
  // Only names for which the function returns true may be removed from it. Null: the input makes a tree of its own.
  using OwnNames = bool (*)(std::string_view name);
  virtual OwnNames own_names() const { return nullptr; }

  // True: nothing but the operations may change the target, which gets no marker and no probe.
  virtual bool leaves_target_alone() const { return false; }
  // True: the capture goes on meanwhile. Were the target captured, its operations would come back for ever.
  virtual bool is_live() const { return false; }

  // Output files of the input. open_outputs() opens them before anything else is done; finish_outputs() completes them after the
  // last round. Both throw std::runtime_error, one line.
  virtual void open_outputs() {}
  virtual void finish_outputs(const Report&) {}

  virtual size_t rounds() const { return 1; }
  // Starts again with `factor` times the load. Only for inputs of one round. A factor other than 1 needs a load_unit(). `least`:
  // an input that generates its operations runs for at least this long, unless the command line limits it.
  virtual void restart(double factor, const RunLength& least) = 0;
  // Throws std::runtime_error, one line, if the load does not follow from a schedule.
  virtual LoadUnit load_unit() const = 0;
  // Goes on to the next round. Call this before the first round and between rounds. False: there are no more.
  virtual bool next_round() = 0;
  // Returns the files that must exist before the round. Throws std::runtime_error, one line, if the input can't be run on that
  // target.
  virtual Image image(const Target& target, const ImageOptions& options, const ShowProgress& progress) = 0;
  // Throws std::runtime_error, one line, if making the image would damage files of users. False: `go_on`, which it calls before
  // each operation, returned false.
  using GoOn = std::function<bool()>;
  virtual bool check_files(Target& /*target*/, Clock& /*clock*/, const GoOn& /*go_on*/) { return true; }
  // Adds a description of the input and of this round to the report. Called when the image is known, and again after the run, to
  // add its results.
  virtual void describe(Report& report) = 0;
  // Brings the description up to date while the round runs, if the input adds figures then.
  virtual void describe_so_far(Report& /*report*/) {}
  // Returns one line to warn the user before anything is done. Empty: no warning.
  virtual std::string warning() const { return ""; }
  // outlook() returns a line for --dry-run: "4 operations of 2 streams". survey() returns the operations of the round, and sets
  // the options' range. It serves to check what the target can express. Null: the operations are generated during the run.
  virtual std::string outlook() const = 0;
  virtual OpSource* survey(RunOptions&) { return nullptr; }
  // Returns the operations, and sets the members of `options` that depend on the input. Valid until the next call of
  // next_round(). Null: the input runs the round itself, as GeneratedLoad.
  virtual OpSource* operations(RunOptions& options) = 0;
  // Keeps the names that operations() will show, so that find_paths() need not read the input once more.
  virtual void keep_names() {}
  // Finds the paths of operations of the run, by their numbers, for the report. `op` has number, kind, name, object and parent.
  // An empty path stays empty if it is not known.
  struct DescribedOp {
    Op op;
    std::string path;
  };
  using DescribedOps = std::map<uint64_t, DescribedOp>;
  virtual void find_paths(DescribedOps&) {}
  // Returns the known state of the tree before the first operation. Only a trace knows any.
  virtual LiveState before() { return {}; }
  // Returns operations to run after the round, which close what its image opened. Null: none.
  virtual std::unique_ptr<OpSource> closing() { return nullptr; }
  // Returns a text that distinguishes this input from another of the same name. Empty: the command line is enough.
  virtual std::string identity() const { return ""; }
  // Called when the round is over and its report is complete. Returns a line for the table of rounds. Empty: there is no table.
  virtual std::string end_round(const Report&) { return ""; }
};

}  // namespace fsr
