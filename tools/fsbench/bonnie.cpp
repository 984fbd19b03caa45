// SPDX-License-Identifier: Apache-2.0
// The options, tests and output of bonnie++ 2.00a, on directories and on any other target.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "bonnie_user.hpp"
#include "cluster/cluster.hpp"
#include "cluster/rank_group.hpp"
#include "cluster/rank_options.hpp"
#include "existing_target.hpp"
#include "kept_results.hpp"
#include "personality.hpp"
#include "process_barrier.hpp"
#include "rank_table.hpp"
#include "report_rows.hpp"
#include "response_json.hpp"
#include "threads/thread_runner.hpp"
#include "trace/bytes.hpp"
#include "workloads/bonnie/bonnie_run.hpp"
#include "workloads/bonnie/copies_result.hpp"
#include "workloads/bonnie/data_thread.hpp"
#include "workloads/bonnie/files_thread.hpp"
#include "workloads/bonnie/layout.hpp"
#include "workloads/bonnie/seek_thread.hpp"

namespace fsr::fsbench {

namespace {

using namespace bonnie;

struct Options {
  std::string location = ".", big, small, user, group, machine, random_file, meeting, layout = "2.00a", results;
  std::vector<std::string> bytes_size;
  int memory = -1;      // MiB; -1: that of this machine
  uint64_t rounds = 0;  // 0: one round, with a table
  uint64_t seed = 0;
  int semaphores = 0;
  bool quiet = false, syncs = false, direct = false, fast = false, json = false;
  ClusterOptions cluster;
};

int memory_of_machine() {
  const long page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_PHYS_PAGES);
  return page > 0 && pages > 0 ? int(int64_t(page) * pages / kMiB) : 0;
}

std::string name_of_machine() {
  utsname names;
  return uname(&names) == 0 ? names.nodename : "";
}

mode_t current_umask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

class Bonnie {
 public:
  Bonnie(const Options& options, Cluster& cluster, const std::atomic<int>& stop)
      : options_(options), cluster_(cluster), stop_(stop), ranks_(cluster, stop) {
    if (options_.memory < 0) options_.memory = memory_of_machine();
    if (options_.machine.empty()) options_.machine = name_of_machine();
    options_.quiet = options_.quiet || !cluster.root();
    clock_.heed(stop);
  }

  int run() {
    std::unique_ptr<Numbers> numbers;
    take_roots();
    cluster_.on_all([&] {
      take_settings();
      take_user();
      if (cluster_.root()) kept_.emplace(options_.results);  // as that user, who writes it at the end
      numbers = options_.random_file.empty() ? std::make_unique<Numbers>(uint32_t(options_.seed) + cluster_.rank())
                                             : std::make_unique<Numbers>(options_.random_file);
      if (!options_.meeting.empty()) barrier_ = make_meeting(options_.meeting);
      target_ = open_existing(by_path(options_.location, true), clock_);
      runner_ = std::make_unique<ThreadRunner>(clock_);
      runner_->add(*target_);
    });
    if (cluster_.root() && options_.rounds > 1 && !options_.json && !old_layout()) puts(kCsvHeader);
    for (uint64_t round = 0; round == 0 || round < options_.rounds; ++round) {
      numbers->reset();
      const int status = perform(*numbers);
      if (!ranks_.lost().empty() || !cluster_.broadcast(status ? "ended" : "").empty()) return status;
    }
    return 0;
  }

 private:
  bool old_layout() const { return options_.layout == "1.03"; }

  // Takes over settings of the root: the seed, which may come from the time, and a name that no other process uses.
  void take_roots() {
    if (ranks_.several() && !options_.meeting.empty())
      throw std::runtime_error("-y: not possible with ranks, which wait for each other before each test anyway; leave -y out");
    ByteWriter mine;
    mine.varint(options_.seed);
    mine.text(fmt::format("Bonnie.{}", getpid()));
    const std::string from_root = cluster_.broadcast(mine.view());
    ByteReader in(from_root);
    options_.seed = in.varint();
    name_ = in.text();
    if (ranks_.several()) name_ += fmt::format(".{}", cluster_.rank());
  }

  void take_settings() try {
    if (options_.big.empty())
      settings_.size_by_memory(options_.memory);
    else
      settings_.take_big(options_.big);
    if (!options_.small.empty()) settings_.take_small(options_.small);
    if (options_.fast) settings_.take_bytes(options_.bytes_size.empty() ? "" : options_.bytes_size[0]);
    settings_.syncs = options_.syncs;
    settings_.direct = options_.direct;
    settings_.check(options_.memory);
  } catch (const std::invalid_argument& e) {
    throw std::runtime_error(e.what());
  }

  void take_user() {
    if (options_.user.empty() && options_.group.empty()) {
      if (geteuid() == 0) throw std::runtime_error("You must use the \"-u\" switch when running as root.");
      return;
    }
    become(options_.user, options_.group);
    if (!options_.quiet) fmt::print(stderr, "Using uid:{}, gid:{}.\n", getuid(), getgid());
  }

  // Runs one round of all tests. Returns an exit status, on the root.
  int perform(Numbers& numbers) {
    const int64_t begin = clock_.now();
    BonnieRun run(settings_, numbers, name_);
    run.umask = current_umask();
    run.percentiles = options_.json || !options_.results.empty();
    run.old_words = old_layout();
    if (!options_.quiet)
      run.print_progress = [this](const char* text) {
        fputs(text, stderr);
        line_ended_ = std::string_view(text).ends_with('\n');
      };
    if (barrier_) run.meet = [this](Phase phase) { return barrier_->meet(phase); };
    if (ranks_.several()) run.meet = [this](Phase) { return ranks_.barrier(); };
    ranks_.work_with_barriers([&] {
      if (settings_.size > 0) data_tests(run);
      if (settings_.files > 0 && going_on(run)) run_threads(run, part(std::make_unique<FilesThread>(run)));
    });
    const CopiesResult mine{run.results, run.failure, run.left, stop_.load() != 0};
    const auto all = ranks_.gather(mine);
    if (!cluster_.root()) return 0;
    const nlohmann::json report = print(all, numbers.name());
    const int status = complain(all);
    kept_->keep(load(), options_.location, rows_of(report), clock_.now() - begin, status);
    return status;
  }

  bool going_on(const BonnieRun& run) const { return run.failure.empty() && stop_.load() == 0 && !lost_; }

  void data_tests(BonnieRun& run) {
    run_threads(run, part(std::make_unique<DataThread>(run)));
    unsigned removers = 0;
    if (going_on(run) && settings_.seeks > 0) {
      Tickets tickets(run);
      std::vector<SimThreadSpec> seekers;
      for (unsigned i = 0; i < unsigned(settings_.seekers); ++i)
        seekers.push_back({std::make_unique<SeekThread>(run, tickets, i == 0), 0, i});
      run_threads(run, seekers);
      removers = unsigned(settings_.seekers);
      if (going_on(run)) run.end(kSeeks, tickets.measured());
    }
    if (!lost_) run_threads(run, part(std::make_unique<BigFileRemover>(run, removers)));
  }

  static std::vector<SimThreadSpec> part(std::unique_ptr<SimThread> thread) {
    std::vector<SimThreadSpec> parts;
    parts.push_back({std::move(thread), 0, 0});
    return parts;
  }

  void run_threads(BonnieRun& run, const std::vector<SimThreadSpec>& parts) {
    const RunnerResult measured = runner_->run(parts, {.stop = &stop_});
    if (measured.abandoned == 0) return;
    lost_ = true;
    run.left = fmt::format("operations in flight did not end: {} may be left behind", run.name);
  }

  // Returns what determines the load, in the words of the command line.
  std::string load() const {
    return fmt::format("bonnie -s {} -n {}{}{}{}{}", options_.big.empty() ? "auto" : options_.big,
                       options_.small.empty() ? "16" : options_.small, options_.fast ? " -f" : "", options_.syncs ? " -b" : "",
                       options_.direct ? " -D" : "", ranks_.several() ? fmt::format(" --ranks {}", cluster_.size()) : "");
  }

  // Prints the results. Returns them as JSON.
  nlohmann::json print(const std::vector<std::optional<CopiesResult>>& all, const std::string& seed) const {
    Results sums = {};
    std::vector<RankRow> ranks;
    for (unsigned rank = 0; rank < all.size(); ++rank) {
      if (!all[rank]) continue;
      const Results& own = all[rank]->results;
      for (unsigned i = 0; i < kPhases; ++i) sums[i] = ranks.empty() ? own[i] : together(sums[i], own[i]);
      ranks.push_back(row_of(rank, own));
    }
    const ResultHeader header{settings_, sums, options_.machine, seed, unsigned(ranks.size())};
    nlohmann::json document = json(header);
    add_responses(document, sums);
    if (options_.json) {
      add_ranks(document, ranks);
      fmt::print("{}\n", document.dump(2));
      return document;
    }
    if (options_.rounds == 0) {
      FILE* const out = options_.quiet ? stderr : stdout;
      fputs((old_layout() ? table_103 : table)(header).c_str(), out);
      fputs(rank_table(ranks).c_str(), out);
    }
    fputs((old_layout() ? csv_103 : csv)(header).c_str(), stdout);
    fflush(stdout);
    return document;
  }

  // Adds response times to the rows of the tests.
  static void add_responses(nlohmann::json& document, const Results& results) {
    for (nlohmann::json& row : document["rows"])
      for (unsigned i = 0; i < kPhases; ++i)
        if (row["name"] == kPhaseKeys[i] && results[i].steps.count()) row["response"] = response_json(results[i].steps);
  }

  RankRow row_of(unsigned rank, const Results& results) const {
    const ResultHeader header{settings_, results, {}, {}};
    RankRow row{rank, cluster_.hosts()[rank], 0, {}};
    for (unsigned i = 0; i < kPhases; ++i) {
      row.seconds += results[i].elapsed;
      if (const double found = rate(header, Phase(i)); found > 0) row.rates.push_back({kPhaseKeys[i], unit(Phase(i)), found});
    }
    return row;
  }

  // Prints errors. Returns the exit status.
  int complain(const std::vector<std::optional<CopiesResult>>& all) {
    const std::string& lost = ranks_.lost();
    unsigned left = 0;
    bool fine = true, interrupted = false;
    auto report = [&](const std::string& what) {
      fmt::print(stderr, "{}fsbench bonnie: {}\n", line_ended_.exchange(true) ? "" : "\n", what);
      fine = false;
    };
    for (unsigned rank = 0; rank < all.size(); ++rank) {
      if (!all[rank]) continue;
      ++left;
      const CopiesResult& result = *all[rank];
      interrupted |= result.interrupted;
      const std::string who = ranks_.several() ? cluster_.name_of(rank) + ": " : "";
      std::string why = result.interrupted       ? (ranks_.several() ? "" : "interrupted")
                        : result.failure != lost ? result.failure
                                                 : "";
      if (!result.left.empty()) why += (why.empty() ? "" : "; ") + result.left;
      if (!why.empty()) report(who + why);
    }
    if (interrupted && ranks_.several()) report("interrupted");
    if (!lost.empty()) report(ranks_.lost_line(left));
    return fine ? 0 : 1;
  }

  Options options_;
  Cluster& cluster_;
  const std::atomic<int>& stop_;
  RankGroup ranks_;
  Settings settings_;
  MonotonicClock clock_;
  std::unique_ptr<ProcessBarrier> barrier_;
  std::unique_ptr<Target> target_;
  std::unique_ptr<ThreadRunner> runner_;  // kept for all rounds, so that new files and directories get new object ids
  std::optional<KeptResults> kept_;       // only on the root
  std::string name_;                      // name of the files and directories made
  bool lost_ = false;                     // threads did not end
  std::atomic<bool> line_ended_{true};    // true: the line of progress has ended
};

int run(Options options, const std::atomic<int>& stop) {
  if (options.semaphores) {
    if (!options.meeting.empty())
      throw std::runtime_error("-p creates semaphores for other processes that run with -y s; give only one of the two");
    refuse_launcher();
    set_semaphores(options.semaphores);
    return 0;
  }
  options.cluster.stop = &stop;
  const std::string what =
      fmt::format("-d '{}' -s '{}' -n '{}' -x {}", options.location, options.big, options.small, options.rounds);
  return on_ranks(options.cluster, what, [&](Cluster& cluster) { return Bonnie(options, cluster, stop).run(); });
}

Run add(Command& command, const std::atomic<int>& stop) {
  auto o = std::make_shared<Options>();
  o->seed = uint32_t(getpid()) ^ uint32_t(time(nullptr));
  command.add("-d", o->location, "test this directory or URL (default .)").stands_for("DIR");
  command
      .add("-s", o->big,
           "test a big file of SIZE MiB, 0 for none (default twice the memory); bytes of a chunk (8192); seeks (8192); seekers "
           "(5)")
      .stands_for("SIZE[:CHUNK[:SEEKS[:SEEKERS]]]");
  command
      .add("-n", o->small,
           "test N x 1024 small files, 0 for none (default 16); largest file in bytes, or -1: hard links, -2: symlinks (0); "
           "smallest file (0); directories (1); bytes of a chunk (8192)")
      .stands_for("N[:MAX[:MIN[:DIRS[:CHUNK]]]]");
  command.add("-m", o->machine, "print this machine name in the results").stands_for("NAME");
  command.add("-r", o->memory, "take this MiB of memory; the big file must have twice as much (0: any size)").stands_for("MIB");
  command.add("-x", o->rounds, "run N rounds of all tests, each a line of CSV").within(1, 1'000'000).stands_for("N");
  command.add("-u", o->user, "act as this user, name or number; required for root").stands_for("USER[:GROUP]");
  command.add("-g", o->group, "act as this group").stands_for("GROUP");
  command.flag("-q", o->quiet, "print no progress, and the table on standard error");
  command.add("-f", o->bytes_size, "test this many MiB by single bytes (default 3); without a number: no such tests")
      .count_within(0, 1)
      .stands_for("MIB");
  command.flag("-b", o->syncs, "call fsync after each file and after each block that a seek writes");
  command.flag("-D", o->direct, "use O_DIRECT for blocks of the big file");
  command.add("-y", o->meeting, "wait for other processes before each test: at semaphores (s) or a prompt (p)")
      .one_of({"s", "p"});
  command.add("-p", o->semaphores, "create semaphores for N processes and end; -1: remove the semaphores").stands_for("N");
  command.add("-z", o->seed, "seed the random numbers").within(0, UINT32_MAX).stands_for("SEED");
  command.add("-Z", o->random_file, "read random numbers from this file").stands_for("FILE");
  command.add("--layout", o->layout, "print the layout of this version").one_of({"1.03", "2.00a"});
  command.flag("--json", o->json, "print results as JSON, also of short tests");
  add_results_option(command, o->results);
  add_rank_options(command, o->cluster);
  return [o, command, &stop](const auto&) mutable {
    o->fast = command.option("-f").given();
    if (const size_t colon = o->user.find(':'); colon != std::string::npos) {
      o->group = o->user.substr(colon + 1);
      o->user.resize(colon);
    }
    return run(*o, stop);
  };
}

constexpr Compared kAsCompared = {
    .check =
        [](const Words& arguments) {
          if (has_option(arguments, "-d"))
            throw std::runtime_error("bonnie -d: expected targets before \"--\" only; -d would put all runs on one target");
        },
    .on = [](const std::string& target, unsigned seed, const Words& arguments) -> Words {
      if (has_option(arguments, "-z") || has_option(arguments, "-Z")) return {"-q", "-d", target};
      return {"-q", "-d", target, "-z", std::to_string(seed)};
    },
};

}  // namespace

constinit const Personality kBonnie = {
    .name = "bonnie", .what = "tests a big file and many small ones", .add = add, .on_ranks = true, .compared = &kAsCompared};

}  // namespace fsr::fsbench
