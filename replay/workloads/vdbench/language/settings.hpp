// SPDX-License-Identifier: Apache-2.0
// The definitions of parameter files. Plain data; sizes are in bytes, times in seconds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "util/random.hpp"
#include "workloads/vdbench/language/source_text.hpp"
#include "workloads/vdbench/language/values.hpp"

namespace fsr::vdbench {

// Sizes with their percentages.
using SizeShares = std::vector<std::pair<uint64_t, double>>;

// Sizes of transfers: one size, several sizes with their percentages, or any multiple of `align` from `least` to `most`.
struct TransferSizes {
  SizeShares shares = SizeShares(1, {4096, 100});
  uint64_t least = 0, most = 0, align = 0;  // align 0: `shares` are used instead

  uint64_t largest() const;
  uint64_t draw(Random& random) const;
  uint64_t only() const { return align == 0 && shares.size() == 1 ? shares[0].first : 0; }  // 0: there are several sizes
};
// Reads xfersize= of either kind, in multiples of `unit`. Throws ParameterError.
TransferSizes transfer_sizes(const Parameter& parameter, uint64_t unit = 512);

// Part of an SD, as percentages or bytes.
struct Share {
  double from = 0, to = 0;  // both 0: the whole SD
  bool given() const { return to != 0; }
};

// O_* flags for open(2), and whether to fsync before close.
struct OpenFlags {
  uint32_t flags = 0;
  bool sync_at_close = false;
};
OpenFlags open_flags(const Parameter& parameter);

using Commands = std::vector<std::string>;         // shell commands before or after runs
Commands commands_of(const Parameter& parameter);  // without the words for the destination of their output and for the host

// Settings of data validation.
struct Validation {
  bool on = false;
  bool reads_before = true, reads_after = false;  // whether to read before and after each write
  bool journal = false;                           // a journal, with one file of keys for each SD
  bool flushes = true, maps_only = false;         // journal: wait for the disk before writes; write no entries
  bool recovers = false, only_recovers = false, ignores_pending = false, reads_all = true;
};

// Settings of the written content.
struct ContentSettings {
  double compression = 1;                                             // bytes per compressed byte
  double dedup = 0;                                                   // units per unit that remains; 0: not requested
  uint64_t unit = 128 << 10;                                          // bytes of a unit for dedup
  double sets = 5;                                                    // number of sets of equal units
  bool sets_percent = true;                                           // `sets` is a percentage of all units
  std::vector<std::pair<uint64_t, uint64_t>> hot_sets{};              // (number of sets, units of each set), at the beginning
  enum class Flips : uint8_t { none, hot, all } flips = Flips::none;  // sets that alternate between two contents
  std::string pattern_file;
  std::shared_ptr<const std::string> pattern;  // content of pattern_file; null: none
  uint64_t seed = 0;                           // of random content; 0: another in each run
  bool given() const { return compression > 1 || dedup > 0 || !pattern_file.empty(); }
};

// How often all runs are repeated: a number of times, or until a number of seconds is over. Both 0: for ever.
struct Repeats {
  uint64_t times = 1;
  int64_t seconds = 0;
};
Repeats repeats(const Value& value);  // parses "5", "30s", "10m" or "2h"; throws ParameterError

// Processes that do a part of the work: hd=. A set of hosts is a list of their numbers; an empty one means all hosts.
// Characters that mean something to a shell.
constexpr const char* kShellCharacters = "<>|;&$`'\"\\*?(){}#\n";

using HostNumbers = std::vector<size_t>;
struct Host {
  std::string name;
  SourcePosition position;
  std::string system;               // name or address of the machine; empty: the same as `name`
  unsigned jvms = 1;                // ranks that the file expects on this host
  unsigned clients = 0;             // number of hosts that take its place, NAME_cl0 and so on; 0: none do
  std::vector<std::string> mounts;  // shell commands, run on the host before anything is opened
};

// Members that sd=, wd=, fsd=, fwd= and rd= have in common.
struct Definition {
  std::string name;
  SourcePosition position;
  HostNumbers hosts{};
  bool flawed = false;  // true: a mistake is in it, so that others may follow from it
};

struct General {
  Validation validation;
  bool create_anchors = false;
  uint64_t format_transfer = 128 << 10;
  std::vector<int64_t> histogram;  // upper edges of the buckets, ns; empty: the default ones
  bool histogram_shown = true;
  bool storage_pages = true;                     // a page for each SD or FSD
  bool host_pages = false, slave_pages = false;  // pages for each SD or FSD of each host or rank
  Commands start, end;
  std::string monitor;        // file in which words that end the run are looked for; empty: none
  uint64_t data_errors = 50;  // number of errors at which the run ends
  int64_t error_wait = 0;     // seconds after the last error, at which the run ends; 0: no limit
  bool removes = false;       // an SD with an error is not used any more
  std::string error_command;  // run before the end, with the position of the first failure; empty: none
  bool concatenates = false;  // the SDs of a WD are used as one
  SourcePosition concatenates_position, removes_position, content_position,
      pattern_position;  // of settings that may contradict others
  Repeats repeats;
  ContentSettings content;
  uint64_t queue = 2000;                 // starts by which a workload may be late
  std::optional<bool> formats_storages;  // true: each SD is written before the first run; false: no SD is; none: incomplete ones
  bool adjusts_threads = true;           // the threads of a FWD may differ from those requested
  double skew_limit = 0;                 // percent by which a share may be missed; 0: no limit
};

// Returns the content of a run with the parameters of one SD or FSD, which are general ones. Throws ParameterError.
ContentSettings own_content(const ContentSettings& of_run, const std::vector<Parameter>& parameters);
// Adds a general parameter that holds for one SD or FSD. Throws ParameterError if its values are wrong.
template <class T>
void add_content(T& storage, const Parameter& parameter) {
  own_content({}, {parameter});
  storage.content.push_back(parameter);
}

struct Storage : Definition {
  std::string lun, journal = ".";  // journal: its directory
  uint64_t size = 0;               // 0: the present size
  unsigned threads = 8;
  uint64_t hit_area = 1 << 20, offset = 0, align = 0;
  Share range;
  OpenFlags flags;
  std::vector<size_t> parts{};                              // numbers of the SDs that this one consists of, in their order
  std::vector<Parameter> content{};                         // general parameters that hold for the content of this SD alone
  std::vector<std::pair<HostNumbers, std::string>> luns{};  // names on hosts; empty: `lun` on all hosts
};

enum class Seek : uint8_t { random, sequential, once, sequential_elsewhere, poisson };

struct Workload : Definition {
  std::vector<size_t> storages;
  TransferSizes transfers;
  double read_percent = 100, read_hits = 0, write_hits = 0;
  Seek seek = Seek::random;
  double seek_percent = 100;  // of Seek::random; other transfers follow the previous one
  double midpoint = 3;        // of Seek::poisson
  std::optional<std::pair<double, double>> stride;
  Share range, hot_band;
  double skew = 0;        // percent; 0: an equal part of the rest
  double rate = 0;        // rate of its own, operations per second; 0: a share of the run's rate
  unsigned priority = 0;  // 1: has precedence over all others; 0: none
  unsigned streams = 0, threads = 0;
  OpenFlags flags;
};

struct FileSystem : Definition {
  std::string anchor, journal = ".";  // journal: its directory
  uint64_t depth = 1, width = 1, files = 10;
  SizeShares sizes = SizeShares(1, {4096, 100});  // (size, 0): about that size
  bool all_directories = false;                   // files in all directories instead of only the lowest ones
  uint64_t total = 0, working_set = 0;            // bytes; 0: all files
  bool total_percent = false, working_set_percent = false;
  OpenFlags flags;
  bool shared = false;                    // expects that all hosts see one tree
  std::string directory_mask, file_mask;  // printf formats; empty: the default names
  std::vector<Parameter> content{};       // as of a Storage

  bool same_files(const FileSystem& other) const {
    auto what = [](const FileSystem& f) {
      return std::tie(f.depth, f.width, f.files, f.sizes, f.all_directories, f.total, f.total_percent, f.working_set,
                      f.working_set_percent, f.directory_mask, f.file_mask);
    };
    return what(*this) == what(other);
  }
};

enum class Operation : uint8_t { read, write, mkdir, rmdir, create, remove, open, close, access, getattr, setattr, copy, move };
constexpr unsigned kOperations = unsigned(Operation::move) + 1;
extern const char* const kOperationNames[kOperations];  // "read", "write", "mkdir", "rmdir", "create", "delete", ...

Operation operation_of(const Value& value);  // throws ParameterError

struct FileWorkload : Definition {
  std::vector<size_t> systems;
  std::optional<size_t> target;  // only for copy and move
  Operation operation = Operation::read;
  std::optional<double> read_percent;  // percentage of reads, for reads and writes of one open file
  TransferSizes transfers;
  bool random_io = false, shared = false, starts_anywhere = false, deletes_first = false;
  bool random_files = false, once = false, starts_at_any_file = false;
  double midpoint = 0;  // of poisson selection; 0: uniform selection
  uint64_t stop_after = 0;
  bool stop_after_percent = false;
  double skew = 0;  // percent
  unsigned threads = 1;
  OpenFlags flags;
};

struct Format {
  bool yes = false, only = false, restart = false, clean = false, once = false, directories = false, limited = false,
       complete = false;
  bool any() const { return yes || only || restart || clean; }
};

// Names of the loops over Run::rates.
constexpr char kIorate[] = "iorate", kFwdrate[] = "fwdrate";

// A parameter with several values, for each of which the run is repeated, in their order.
struct Loop {
  std::string_view name;  // of the parameter that it sets in other definitions: "xfersize"
  SourcePosition position;
  std::vector<Number> numbers;
  bool as_typed = false;  // its values are shown as in the file; otherwise as sizes

  bool of_rates() const { return name == kIorate || name == kFwdrate; }
};

struct Rate {
  enum Kind : uint8_t { fixed, max, curve, percent } kind = fixed;
  double value = 0;  // operations per second; percent: of the rate that the previous run achieved
};

constexpr double kLeastBytes = 100;  // lowest number of bytes of maxdata=; a lower number is a multiple of the SDs' size

enum class Distribution : uint8_t { exponential, uniform, deterministic };

// One step of distribution=variable.
struct RateStep {
  double rate = 0;    // operations per second
  double length = 0;  // seconds, or a percentage of elapsed=
  bool percent = false;
};

struct Run : Definition {
  std::vector<size_t> workloads, file_workloads;
  std::optional<std::vector<size_t>> storages, systems;
  std::vector<Rate> rates;
  std::vector<RateStep> rate_steps;
  std::vector<double> curve_points = {10, 50, 70, 80, 90, 100};
  double stop_curve = 0;  // ms
  int64_t elapsed = 30, interval = 1, warmup = 0, pause = 0;
  double max_data = 0, max_read = 0, max_written = 0;  // bytes, or multiples as for kLeastBytes; 0: no limit
  Distribution distribution = Distribution::exponential;
  bool variable = false, spike = false;
  Format format;
  std::vector<Operation> operations;
  std::vector<Loop> loops;
  Commands start, end;
  std::string mount;  // options for the mount= of all hosts, or "reset"; empty: nothing is mounted
  OpenFlags flags;
};

struct Definitions {
  General general;
  std::vector<Host> hosts;
  std::vector<Storage> storages;
  std::vector<Workload> workloads;
  Workload default_workload;  // for RDs without a WD
  std::vector<FileSystem> systems;
  std::vector<FileWorkload> file_workloads;
  FileWorkload default_file_workload, format_workload;  // fwd=default, for RDs with FSDs only; fwd=format
  std::vector<Run> runs;
  bool flawed = false;  // true: a mistake is in what all runs depend on
  bool files() const { return !systems.empty(); }
};

}  // namespace fsr::vdbench
