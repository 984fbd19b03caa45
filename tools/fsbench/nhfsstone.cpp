// SPDX-License-Identifier: Apache-2.0
// The options, test directories, messages and output of nhfsstone 1.22 (Legato, 1990), with this project's own synthesizer. This
// is an independent implementation that shares no algorithm with the original.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "background_activity.hpp"
#include "base/clock.hpp"
#include "base/processors.hpp"
#include "base/target.hpp"
#include "cli/rank_results.hpp"
#include "cluster/cluster.hpp"
#include "cluster/rank_group.hpp"
#include "cluster/rank_options.hpp"
#include "cycle/run_steps.hpp"
#include "existing_target.hpp"
#include "inputs/mix/mix_input.hpp"
#include "kept_results.hpp"
#include "measure/bound.hpp"
#include "mix/mix.hpp"
#include "nhfsstone_places.hpp"
#include "personality.hpp"
#include "report/report.hpp"
#include "report_rows.hpp"
#include "response_json.hpp"
#include "util/units.hpp"

namespace fsr::fsbench {

namespace {

struct Options {
  bool verbose = false, json = false, force = false;
  uint64_t seconds = 0, calls = 0;  // 0: not given
  double load = 30;
  unsigned processes = 7;
  std::string mix = "mix:nhfsstone", results;
  std::vector<std::string> targets;
  ClusterOptions cluster;
};

constexpr uint64_t kUsualCalls = 5000;
constexpr unsigned kMostWorkers = 64;      // for one target on a mount
constexpr int64_t kOpening = 200'000'000;  // ns for all ranks to open their sessions, before the common start

// One target, and the run of the streams that use it.
struct TargetRun {
  std::unique_ptr<Target> target;
  std::unique_ptr<MixInput> input;
  Report report;
  std::unique_ptr<RunSteps> steps;
  std::string error;
  unsigned processes = 0;            // of this rank
  std::string location;              // directory or URL
  std::optional<IdleResponse> idle;  // before the start, of a server that counts nothing for us
  uint64_t mount = 0;                // file system of a directory, whose requests are counted once; 0: none
};

// Requests of others.
struct Background {
  const char* counted_by;
  double rate;  // calls per second
};

class Nhfsstone {
 public:
  Nhfsstone(const Options& options, Cluster& cluster, const std::atomic<int>& stop)
      : options_(options), cluster_(cluster), stop_(stop), ranks_(cluster, stop) {
    clock_.heed(stop);
    if (options_.targets.empty()) options_.targets = {"."};
    total_ = options_.calls     ? options_.calls
             : options_.seconds ? uint64_t(double(options_.seconds) * options_.load)
                                : kUsualCalls;
    if (total_ == 0) total_ = 1;
  }

  int run() {
    cluster_.on_all([&] {
      if (cluster_.root()) kept_.emplace(options_.results);
      const Mix mix = load();
      for (const MixProcedure& p : mix.procedures) procedures_.push_back(p.name);
      const std::vector<StonePlace> places = stone_places(options_.targets, options_.processes, clock_);
      for (const StonePlace& place : places)
        if (place.numbers.size() < cluster_.size())
          throw std::runtime_error(
              fmt::format("-p {}: expected at least {} processes, one on each target for each rank ({} ranks, {} targets)",
                          options_.processes, places.size() * cluster_.size(), cluster_.size(), places.size()));
      unsigned before = 0;
      for (const StonePlace& place : places) open(mix, place, before);
    });
    cluster_.on_all([&] {
      for (TargetRun& place : places_) prepare(place);
    });
    cluster_.on_all([&] {
      if (cluster_.root()) watch_background();
    });
    rehearse();
    ranks_.work([&] {
      std::vector<std::thread> threads;
      for (TargetRun& place : places_) threads.emplace_back([this, &place] { perform(place); });
      for (std::thread& t : threads) t.join();
    });
    for (TargetRun& place : places_) finish(place);
    return cluster_.root() ? keep(report()) : 0;
  }

 private:
  Mix load() const {
    if (options_.mix.starts_with("mix:")) {
      const Mix* known = built_in_mix(std::string_view(options_.mix).substr(4));
      if (!known) throw std::runtime_error(options_.mix + ": no such mix; there are " + built_in_mix_names());
      return *known;
    }
    return load_mix(options_.mix);
  }

  // `before`: number of processes with earlier targets; the processes of this one are added.
  void open(const Mix& mix, const StonePlace& of, unsigned& before) {
    MixOptions w;
    w.numbers = of.numbers;
    w.names = of.names;
    w.streams = unsigned(w.numbers.size());
    w.loads = {options_.load * w.streams / options_.processes};
    w.arrival = Arrival::uniform;
    auto calls_of = [&](unsigned processes) { return uint64_t(std::llround(double(total_) * processes / options_.processes)); };
    w.calls = std::max<uint64_t>(1, calls_of(before + w.streams) - calls_of(before));
    before += w.streams;
    w.sizes = "nhfsstone";
    TargetRun& place = places_.emplace_back();
    place.target = open_existing(past_cache(of.target), clock_);
    place.input = std::make_unique<MixInput>(mix, w);
    place.report.target = place.target->name();
    place.location = of.target;
    place.processes = unsigned((of.numbers.size() + cluster_.size() - 1) / cluster_.size());
    place.mount = device_of(of.target);
    if (ranks_.several()) place.input->take_share(cluster_.rank(), cluster_.size(), false);
    place.steps = std::make_unique<RunSteps>(*place.input, *place.target, clock_, stop_, place.report);
    place.input->next_round();
  }

  // Returns the target for a directory, past the caches of the client of a mounted NFS.
  static std::string past_cache(const std::string& location) {
    return device_of(location) ? "file:" + path_of(location) + "?past-cache=1" : location;
  }

  void prepare(TargetRun& place) {
    place.steps->read({}, {});
    place.steps->prepare({}, [this](uint64_t, uint64_t) { ranks_.heartbeat(); });
    if (place.report.prepared.stopped) throw std::runtime_error("interrupted");
    if (place.report.prepared.failures.empty()) return;
    const Mismatch& m = place.report.prepared.failures.front();
    const std::string path = place.input->path_of(m.object);
    // The free space matters only if there is too little.
    const bool full = m.got == "ENOSPC" || m.got == "EDQUOT" || m.got.ends_with(" bytes");
    const Space space = full ? place.target->space() : Space();
    throw std::runtime_error(fmt::format("{}: can't make test directory: {} {}: {} instead of {}{}", place.target->name(),
                                         op_name(m.kind), path.empty() ? m.name : path, m.got, m.expected,
                                         space.total ? fmt::format("; {} are free there", format_size(space.free)) : ""));
  }

  // Refuses a run beside other activity, where the kernel counts requests: as the client of a mount, or as the server of a URL.
  // Measures the response time of other servers.
  void watch_background() {
    auto on_mount = [](const TargetRun& place) { return place.mount && !place.target->requests().empty(); };
    if (std::any_of(places_.begin(), places_.end(), on_mount)) watch(kClientCounters, "this machine's NFS client");
    bool serves = false;
    for (TargetRun& place : places_) {
      if (is_served_here(place.location))
        serves = true;
      else if (place.location.find("://") != std::string::npos)
        place.idle = idle_response(*place.target, clock_, stop_);
    }
    if (serves) watch(kServerCounters, "this machine's NFS server");
  }

  void watch(const char* counters, const char* counted_by) {
    Background found{counted_by, 0};
    // Look twice, because the preparation's last requests may still be in flight.
    for (int look = 0; look < 2 && (look == 0 || found.rate > kMostBackground); ++look)
      found.rate = background_rate(counters, stop_);
    background_.push_back(found);
    if (found.rate <= kMostBackground) return;
    const std::string what = fmt::format("too much background activity ({:.0f} calls/sec by {})", found.rate, counted_by);
    if (!options_.force) throw std::runtime_error(what + ": end other programs that use NFS, or give --force");
    fmt::print(stderr, "fsbench nhfsstone: {}\n", what);
  }

  // Measures what calls cost on the wire, on the root alone, and gives the costs to all ranks.
  void rehearse() {
    cluster_.on_all([&] {
      for (TargetRun& place : places_) place.steps->rehearse();
    });
    if (!ranks_.several()) return;
    const auto on_host = std::count(cluster_.hosts().begin(), cluster_.hosts().end(), cluster_.hosts()[cluster_.rank()]);
    for (TargetRun& place : places_) {
      const std::string costs = cluster_.broadcast(cluster_.root() ? place.input->save_costs() : "");
      place.input->take_costs(costs, 1.0 / double(on_host));
    }
  }

  void perform(TargetRun& place) try {
    RunOptions options;
    // Calls on a mount block their thread, so that each process needs one of its own, as in the original.
    const bool blocks = place.mount && !place.target->requests().empty();
    options.workers =
        blocks ? std::min(place.processes, kMostWorkers) : unsigned(std::max<size_t>(1, usable_processors() / places_.size()));
    if (ranks_.several()) options.meet = [this] { return ranks_.start() + kOpening; };
    place.steps->run(options);
  } catch (const std::exception& e) {
    place.error = e.what();
  }

  // Adds the results of the other ranks on the root.
  void finish(TargetRun& place) {
    place.report.interrupted = stop_.load() != 0;
    if (!ranks_.several()) {
      if (!place.error.empty()) throw std::runtime_error(place.error);
      return;
    }
    if (!place.error.empty()) place.report.aftermath = place.error;
    if (lost_) return;
    const RankClock clock{ranks_.offset(), std::nullopt, ranks_.start() + kOpening};
    lost_ = !gather_results(cluster_, *place.input, place.report, nullptr, clock);
  }

  // Sums over all targets.
  struct Sum {
    uint64_t calls = 0, done = 0, failed = 0;  // failed: includes calls with an unexpected outcome
    double seconds = 0, service = 0;           // seconds in s, service in ms
    std::vector<MixRow> rows, procedures;      // under the names of the wire, and of the mix
    Histogram services, responses, open;
    double wire_calls = 0;
    bool wire = true;
    double sent() const { return wire ? wire_calls : double(calls); }  // calls as the original counts them
  };

  Sum sum() const {
    Sum s;
    std::set<uint64_t> mounts;
    for (const TargetRun& place : places_) {
      const MixResult& m = place.input->result();
      const RunResult& r = place.report.result;
      s.calls += m.calls;
      s.done += m.calls - r.failed() - r.unfinished;
      s.failed += r.differed();
      s.seconds += double(r.elapsed) / 1e9 / double(places_.size());
      s.services.merge(r.service);
      s.responses.merge(r.response);
      s.open.merge(r.open);
      s.wire = s.wire && m.wire_known && m.wire_comparable;
      const bool counted = place.mount && !mounts.insert(place.mount).second;
      for (MixRow row : m.rows) {
        if (counted) row.wire = 0;
        add(s.rows, row);
      }
      for (const MixRow& row : m.procedures) add(s.procedures, row);
    }
    for (const MixRow& row : s.rows) {
      s.service += row.service / 1e6;
      s.wire_calls += double(row.wire);
    }
    return s;
  }

  static void add(std::vector<MixRow>& rows, const MixRow& row) {
    auto found = std::find_if(rows.begin(), rows.end(), [&](const MixRow& x) { return x.name == row.name; });
    if (found == rows.end()) {
      rows.push_back(row);
      return;
    }
    found->issued += row.issued;
    found->failed += row.failed;
    found->wire += row.wire;
    found->service += row.service;
  }

  // Returns a row for each procedure, in the order of its protocol, as the original prints them.
  std::vector<MixRow> table(std::vector<MixRow> rows) const {
    std::vector<MixRow> all;
    for (const std::string& name : procedures_) {
      auto found = std::find_if(rows.begin(), rows.end(), [&](const MixRow& x) { return x.name == name; });
      all.push_back(found == rows.end() ? MixRow{.name = name} : *found);
      if (found != rows.end()) rows.erase(found);
    }
    all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }

  // Adds the run to the results database. Returns its exit status.
  int keep(int status) {
    const Sum s = sum();
    if (s.done == 0) return status;
    const std::string load =
        fmt::format("nhfsstone -l {:g} -c {} -p {} -m {}", options_.load, total_, options_.processes, options_.mix);
    kept_->keep(load, fmt::format("{}", fmt::join(options_.targets, " ")), rows_of(document(s, status == 0)),
                int64_t(s.seconds * 1e9), status);
    return status;
  }

  int report() {
    const Sum s = sum();
    double off = 0;
    // The share that the original calls "got": of the calls on the wire, if these are known and have the mix's procedures.
    // Otherwise of the issued calls.
    auto got = [&](const MixRow& row) { return s.sent() > 0 ? double(s.wire ? row.wire : row.issued) / s.sent() : 0; };
    for (const MixRow& row : s.rows) off += std::abs(got(row) - row.asked) * 100;
    const bool valid = off <= MixResult::kMostDeviation && s.sent() > 0;
    if (options_.json) {
      fmt::print("{}\n", document(s, valid).dump(2));
      return complain(s) && valid ? 0 : 1;
    }
    if (!valid) fmt::print("INVALID RUN, mix generated is off by {:.2f}%\n", off);
    if (options_.verbose || !valid) {
      fmt::print("op        want       got    calls      secs  msec/call    time %{}\n", s.wire ? "   issued" : "");
      for (const MixRow& row : table(s.rows)) {
        const uint64_t done = row.issued - row.failed;
        const double per_call = done ? row.service / 1e6 / double(done) : 0;
        fmt::print("{:<10}{:>3}%    {:>5.2f}%   {:>6}   {:>7.2f}    {:>7.2f}    {:>5.2f}%{}\n", row.name,
                   std::lround(row.asked * 100), got(row) * 100, s.wire ? row.wire : row.issued, row.service / 1e9, per_call,
                   s.service > 0 ? row.service / 1e4 / s.service : 0, s.wire ? fmt::format("   {:>6}", row.issued) : "");
      }
      percentiles("service", s.services, {});
      percentiles("response", s.responses, s.open);
      for (const Background& found : background_)
        fmt::print("background before the start: {:.1f} calls/sec by {}\n", found.rate, found.counted_by);
      for (const TargetRun& place : places_) {
        for (const std::string& note : place.input->result().notes) fmt::print("mix: {}\n", note);
        if (place.idle)
          fmt::print("{}: response before the start: median {:.3f}, longest {:.3f} msec\n", place.target->name(),
                     double(place.idle->median) / 1e6, double(place.idle->longest) / 1e6);
        fmt::print("{}: {}\n", place.target->name(), place.report.result.limit_text);
      }
    }
    for (const TargetRun& place : places_) report_ranks(place);
    const double done = s.wire ? s.wire_calls : double(s.done);
    const bool mounted =
        s.wire && std::any_of(places_.begin(), places_.end(), [](const TargetRun& place) { return place.mount != 0; });
    fmt::print("{} sec {} calls {:.2f} calls/sec {:.2f} msec/call{}\n", std::lround(std::floor(s.seconds)), uint64_t(s.sent()),
               s.seconds > 0 ? done / s.seconds : 0, done > 0 ? s.service / done : 0,
               mounted ? fmt::format(", {} issued", s.calls) : "");
    return complain(s) && valid ? 0 : 1;
  }

  // Prints the section that gather_results() has added.
  void report_ranks(const TargetRun& place) const {
    if (!ranks_.several() || place.report.sections.empty()) return;
    if (places_.size() > 1) fmt::print("\n{}:", place.target->name());
    fmt::print("{}\n", place.report.sections.back()->text());
  }

  nlohmann::json json_of_ranks() const {
    nlohmann::json rows = nlohmann::json::array();
    for (const TargetRun& place : places_) {
      nlohmann::json document;
      if (!place.report.sections.empty()) place.report.sections.back()->json(document);
      for (nlohmann::json& row : document["ranks"]) {
        row["target"] = place.target->name();
        rows.push_back(row);
      }
    }
    return rows;
  }

  nlohmann::json document(const Sum& s, bool valid) const {
    nlohmann::json rows = nlohmann::json::array();
    if (s.done > 0)
      rows.push_back({{"name", "calls"},
                      {"unit", "calls/s"},
                      {"rate", double(s.done) / s.seconds},
                      {"offered_per_s", options_.load},
                      {"response", response_json(s.responses, s.open)}});
    for (const MixRow& row : s.procedures)
      if (row.service > 0)
        rows.push_back(
            {{"name", row.name}, {"unit", "calls/s of service"}, {"rate", double(row.issued - row.failed) * 1e9 / row.service}});
    nlohmann::json document = {{"program", "nhfsstone"}, {"valid", valid}, {"rows", rows}};
    if (ranks_.several()) document["ranks"] = json_of_ranks();
    return document;
  }

  // `open`: values of `h` that are lower bounds.
  static void percentiles(const char* what, const Histogram& h, const Histogram& open) {
    auto ms = [&](double q) {
      return fmt::format("{}{:.3f}", is_lower_bound(h, open, q) ? "> " : "", double(h.quantile(q)) / 1e6);
    };
    fmt::print("{:<10}p50 {} p90 {} p99 {} p99.9 {} max {} msec\n", what, ms(0.5), ms(0.9), ms(0.99), ms(0.999), ms(1));
  }

  // Prints errors. False: there was one.
  bool complain(const Sum& s) {
    if (s.failed) {
      for (const TargetRun& place : places_)
        if (!place.report.result.mismatches.empty()) {
          const Mismatch& m = place.report.result.mismatches.front();
          fmt::print(stderr, "fsbench nhfsstone: op failed: {} {} ({} failed in all)\n", op_name(m.kind), m.got, s.failed);
          break;
        }
    }
    std::set<std::string> reasons;
    bool interrupted = false;
    for (TargetRun& place : places_) {
      interrupted |= std::exchange(place.report.interrupted, false);
      // A load that was missed is a result here and no error, as in the original.
      auto sections = std::exchange(place.report.sections, {});
      for (std::string& reason : verdict(place.report).reasons) reasons.insert(std::move(reason));
      place.report.sections = std::move(sections);
    }
    for (const std::string& reason : reasons) fmt::print(stderr, "fsbench nhfsstone: {}\n", reason);
    if (interrupted) fmt::print(stderr, "fsbench nhfsstone: interrupted\n");
    return !s.failed && !interrupted && reasons.empty();
  }

  Options options_;
  Cluster& cluster_;
  const std::atomic<int>& stop_;
  RankGroup ranks_;
  bool lost_ = false;  // a rank was lost
  uint64_t total_ = 0;
  std::vector<Background> background_;   // calls of others before the start
  std::vector<std::string> procedures_;  // procedures of the mix's version
  MonotonicClock clock_;
  std::deque<TargetRun> places_;
  std::optional<KeptResults> kept_;  // only on the root
};

int run(Options options, const std::atomic<int>& stop) {
  options.cluster.stop = &stop;
  const std::string what = fmt::format("-t {} -c {} -l {} -p {} -m {} {}", options.seconds, options.calls, options.load,
                                       options.processes, options.mix, fmt::join(options.targets, " "));
  return on_ranks(options.cluster, what, [&](Cluster& cluster) { return Nhfsstone(options, cluster, stop).run(); });
}

// Reports wrong values with the words of the original: "illegal calls value x".
template <class T>
void add_number(Command& command, const char* option, const char* what, T& value, uint64_t most, const char* help) {
  auto take = [&value, what, most](const std::string& text) {
    uint64_t n = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size() || n == 0 || n > most)
      throw UsageError(fmt::format("illegal {} value {}", what, text));
    value = T(n);
  };
  command.add_parsed(option, take, help).stands_for("N");
}

Run add(Command& command, const std::atomic<int>& stop) {
  auto options = std::make_shared<Options>();
  command.flag("-v", options->verbose, "print a table of all procedures before the summary");
  add_number(command, "-t", "time", options->seconds, 1'000'000'000, "make N x load calls");
  add_number(command, "-c", "calls", options->calls, 1'000'000'000'000, "make N calls (default 5000); overrides -t");
  add_number(command, "-l", "load", options->load, 1'000'000'000, "make N calls a second in all (default 30)");
  add_number(command, "-p", "procs", options->processes, 10'000, "run N processes, each with one call in flight (default 7)");
  command.flag("--json", options->json, "print rates as JSON instead of the original's output");
  command.flag("--force", options->force, "start even if this machine's NFS client or server is busy with others");
  command.add("-m", options->mix, "read this mixfile: saved nfsstat output of any system, or mix:NAME").stands_for("FILE");
  command.add("DIR", options->targets, "directories or URLs, dealt to the processes in turn (default .)");
  add_results_option(command, options->results);
  add_rank_options(command, options->cluster);
  return [options, &stop](const auto&) { return run(*options, stop); };
}

constexpr std::string_view kFlags[] = {"-v", "--json", "--force"};

constexpr Compared kAsCompared = {
    .check =
        [](const Words& arguments) {
          if (const std::string named = first_word(arguments, kFlags); !named.empty())
            throw std::runtime_error(named +
                                     ": expected targets before \"--\" only; nhfsstone would share the load between several");
        },
    .on = [](const std::string& target, unsigned, const Words&) -> Words { return {target}; },
};

}  // namespace

constinit const Personality kNhfsstone = {.name = "nhfsstone",
                                          .what = "makes a mix of NFS calls, from saved nfsstat output, at a load",
                                          .add = add,
                                          .on_ranks = true,
                                          .compared = &kAsCompared};

}  // namespace fsr::fsbench
