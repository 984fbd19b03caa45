// SPDX-License-Identifier: Apache-2.0
// A model of a load: what its processes do, in which order, when, and on which kinds of files. Learned from traces (learner.hpp),
// stored in a file of some kilobytes (model_file.hpp), turned into operations (model_source.hpp).
//
// Plain data. Symbols and contexts describe a thread of operations as a Markov chain of variable order. Every context belongs to
// a phase of a class of processes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/quantiles.hpp"
#include "model/symbol.hpp"

namespace fsr {

constexpr uint32_t kModelVersion = 7;
constexpr uint32_t kMostPhases = 16;
constexpr uint32_t kAnyKind = 255;                       // in the place of a kind; stays the same in files when kinds are added
constexpr uint32_t kStartsKind = 253, kWaitsKind = 254;  // in the place of a kind: steps that start, or wait for, a process
constexpr uint32_t kPaces = 8;
// Limits of what a file can have.
constexpr uint64_t kMostBytes = uint64_t(1) << 46;  // of a size
constexpr uint64_t kMostEntries = 1'000'000;        // of a listing, and of all that a run lists first
constexpr uint64_t kMostPrepared = 100'000;         // of all directories that exist from the start
constexpr size_t kMostCommand = 64;                 // bytes of the command of a class
constexpr size_t kMostHistory = 8;                  // symbols before the next one that a context may know

// Steps that a process did, in their order.
struct Course {
  bool root = false;   // no step of another process starts it
  uint64_t start = 0;  // microseconds of the run
  std::vector<SymbolId> steps;
  std::vector<std::pair<uint32_t, uint64_t>>
      pauses;                 // long ones: number of the step after it, from 1, and its microsecond of the run
  std::vector<uint8_t> pace;  // of each step, below kPaces: the higher, the longer its times are; empty: not known
};

// Calls `visit` with the first step and the end of each stretch of a course, whose steps have the same pace. It ends at a long
// pause, or after 16 steps.
template <class Visit>
void each_stretch(const Course& course, Visit visit) {
  constexpr size_t kMost = 16;
  auto pause = course.pauses.begin();
  for (size_t from = 0, to = 0; from < course.steps.size(); from = to) {
    to = std::min(course.steps.size(), from + kMost);
    if (pause != course.pauses.end() && pause->first <= to) to = pause++->first;
    visit(from, to);
  }
}

// Processes of one command, whose numbers of operations are similar.
struct ProcessClass {
  std::string command;          // "class 3", or the command if the user keeps commands
  double processes = 0;         // threads in one run
  double roots = 0;             // of `processes`, those that no step of another one starts
  double operations = 0;        // in one run, of all of them
  double steps = 0;             // these, and steps that start processes or wait for them
  uint32_t at_once = 1;         // most that run at the same time
  uint32_t phases = 1;          // equal parts of a process with contexts of their own
  Quantiles start;              // of roots: millionths of the run
  Quantiles length;             // steps of a process
  std::vector<Course> courses;  // in order of start; empty: the model has contexts
};

struct ModelContext {
  uint32_t phase = 0;             // number of the class times kMostPhases, plus that of the phase
  std::vector<SymbolId> history;  // the symbols before, the latest is the last
  // Symbols in ascending order, with their counts in all runs where no longer context fits. kEndOfProcess: the process ends.
  std::vector<std::pair<SymbolId, uint32_t>> next;
  SymbolId last = kEndOfProcess;  // one of them: what followed most often when a process was here for the last time
};

// A name that many operations use: a database, a lock file, an index. The number of the name takes its place.
struct OftenUsedName {
  uint32_t parent = 0;   // number of the name of its directory, from 1; 0: the root, or a directory that is not hot
  uint8_t type = 0;      // S_IFMT bits of the object, shifted by 12
  bool existed = false;  // before the run
  uint64_t size = 0;     // at the start: bytes of a file, entries of a directory
  uint32_t same = 0;     // number of the first name that is equal in another directory, from 1; 0: none comes before
};

// Pauses of processes between two operations.
struct Gaps {
  Quantiles times;     // ns
  uint64_t count = 0;  // in all runs; 0: not known
};

struct LoadModel {
  std::string program;          // name and version of the program that learned the model
  uint32_t runs = 0;            // traces
  uint64_t operations = 0;      // of one run
  int64_t span = 0;             // ns of one run
  uint32_t clock_unit = 1;      // ns; times of the traces are multiples of it
  bool inherits = true;         // processes begin with the open instances of the one that started them
  uint64_t dropped = 0;         // operations of all traces that are too rare to be kept
  std::vector<Symbol> symbols;  // number 1 is the first
  std::vector<ProcessClass> classes;
  std::vector<ModelContext> contexts;
  // ns between the end of an operation and the start of the thread's next one, by phase and both kinds, which may be kAnyKind.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Gaps> gaps;
  Gaps stalls;  // ns that all threads stand still, beside their gaps; none: not known
  std::map<std::pair<uint32_t, uint32_t>, Quantiles> durations;  // ns, by kind and 1 for errors
  std::map<std::pair<uint32_t, uint32_t>, Quantiles> sizes;      // bytes or entries, by kind and class of size
  uint64_t root_entries = 0;                                     // at the start; 0: not known
  Quantiles files;                                               // sizes of files that existed before the run
  std::vector<OftenUsedName> hot;                                // directories come before what is in them
  std::vector<std::pair<uint64_t, uint64_t>> ranges;             // of locks: offset and length
  std::map<std::string, double> between_runs;                    // distances of fstrace compare between two of the traces
};

// Returns the lengths of the stalls of one run, in ns.
std::vector<int64_t> stalls_of(const LoadModel& model);

// How a model knows what its processes do: what follows what, or what each of them did in one of the traces.
enum class ModelForm { contexts, courses };

inline ModelForm form_of(const LoadModel& m) {
  return m.classes.empty() || m.classes[0].courses.empty() ? ModelForm::contexts : ModelForm::courses;
}

// Calls `visit` with number of a class, symbol, and how often it occurs in one run.
template <class Visit>
void each_symbol(const LoadModel& model, Visit visit) {
  for (const ModelContext& c : model.contexts)
    for (const auto& [symbol, n] : c.next)
      if (symbol != kEndOfProcess) visit(c.phase / kMostPhases, symbol, double(n) / double(model.runs));
  for (uint32_t number = 0; number < model.classes.size(); ++number)
    for (const Course& course : model.classes[number].courses)
      for (SymbolId symbol : course.steps) visit(number, symbol, 1.0);
}

inline bool changes_locks(OpKind kind) {
  return kind == OpKind::setlk || kind == OpKind::flock || kind == OpKind::flush || kind == OpKind::release;
}
inline bool is_listing(OpKind kind) { return kind == OpKind::readdir || kind == OpKind::readdirplus; }

// Kind of a step, as in the keys of `gaps`.
inline uint32_t step_kind(const Symbol& s) {
  if (!s.is_process_step()) return uint32_t(s.kind);
  return s.process_step() == ProcessStep::starts ? kStartsKind : kWaitsKind;
}

}  // namespace fsr
