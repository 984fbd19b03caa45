// SPDX-License-Identifier: Apache-2.0
// What can be run on a target: a captured trace, a mix of NFS calls. An input is an image, which must exist before the start, and
// a source of operations; the engine and the report know no more of it.
//
// An input may consist of several rounds (loads of a ramp), each with its image and its operations. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/run.hpp"
#include "op_source.hpp"
#include "plan/image.hpp"
#include "trace/header.hpp"
#include "trace/live_state.hpp"

namespace fsr {

class Clock;
class Target;
struct Report;

// What a run must have at least for a figure of it to be sure.
struct RunLength {
  uint64_t operations = 0;
  int64_t time = 0;  // ns
};

// What the load of an input is counted in: "7.3 times the captured load", "1480 calls/s".
struct LoadUnit {
  double one = 1;  // as the command line asks for it
  const char* words = "";
};

class Input {
 public:
  using ShowProgress = std::function<void(uint64_t done, uint64_t total)>;

  virtual ~Input() = default;
  virtual const TraceHeader& header() const = 0;
  // What of the command line shapes the operations, as options: "--timing think --scale 4x".
  virtual std::string settings() const = 0;
  // The root of the target is not the input's own: it need not be empty, carries no marker, and what in it has a name that
  // `ours` accepts is all that may be removed. Null: a tree of its own.
  using OwnNames = bool (*)(std::string_view name);
  virtual OwnNames own_names() const { return nullptr; }

  // Files of its own to write, opened before anything is done, and completed after the last round. Both throw
  // std::runtime_error, one line.
  virtual void open_outputs() {}
  virtual void finish_outputs(const Report&) {}

  virtual size_t rounds() const { return 1; }
  // Begins anew, with so many times the load. Of an input of one round, and another factor than 1 only where it has a
  // load_unit(), which throws std::runtime_error, one line, where the load does not follow from a schedule. An input that makes
  // its operations up goes on for `least`, unless the command line says how long.
  virtual void restart(double factor, const RunLength& least) = 0;
  virtual LoadUnit load_unit() const = 0;
  // Whether there is a round (left). Before the first and between two of them.
  virtual bool next_round() = 0;
  // What must exist. Throws std::runtime_error, one line, for what can't be run on that target.
  virtual Image image(const Target& target, const ImageOptions& options, const ShowProgress& progress) = 0;
  // Adds what is to be said about the input and the round at hand: when the image is known, before the run, and after it what
  // came of it.
  virtual void describe(Report& report) = 0;
  // What the user should know before anything is done, one line, or nothing.
  virtual std::string warning() const { return ""; }
  // What would be issued, as --dry-run says it: "4 operations of 2 streams". And those operations, for a look at what the
  // target can do, from the options' range; null where they are made up as they go.
  virtual std::string outlook() const = 0;
  virtual OpSource* survey(RunOptions&) { return nullptr; }
  // The number that an operation of the run has among those.
  virtual uint64_t surveyed(uint64_t seq) const { return seq; }
  // Between the preparation and operations(): tries out on the target what the load depends on.
  virtual void rehearse(Target&, Clock&, const RunOptions&) {}
  // The operations, and what of the options follows from the input. Valid until the next call of next_round(). Null: the input
  // runs by itself.
  virtual OpSource* operations(RunOptions& options) = 0;
  // Only after that null. `options` are the run's.
  virtual RunResult run(Target& target, Clock& clock, const RunOptions& options);
  // What is known of the tree before them. Nothing, unless a recording tells.
  virtual LiveState before() { return {}; }
  // What ends that round: closes what its image opened. May be null.
  virtual std::unique_ptr<OpSource> closing() { return nullptr; }
  // What tells it from another of the same name; nothing, where the command line tells all.
  virtual std::string identity() const { return ""; }
  // Of several processes that run the input together, each with a part of the load. take_share(), before anything else, throws
  // std::runtime_error, one line, for an input that can't be split. After a round the root adds what the others tell of theirs;
  // `same_wire`: their requests are counted where another's are, too.
  virtual void take_share(unsigned rank, unsigned ranks, bool force) = 0;
  // Whether they all work in one tree, which the root makes; and which of the handles that were open at the start are opened
  // here, empty: all.
  virtual bool shares_tree() const { return false; }
  virtual std::function<bool(HandleId)> opens() const { return {}; }
  // Whether ids of objects and handles mean others on another rank; the root directory is the same.
  virtual bool ids_differ() const { return false; }
  virtual std::string part() const { return ""; }
  virtual void add_part(std::string_view, bool same_wire) { static_cast<void>(same_wire); }
  // The round is over, and its report complete. A line of a table of rounds, where there are several.
  virtual std::string end_round(const Report&) { return ""; }
};

}  // namespace fsr
