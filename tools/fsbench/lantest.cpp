// SPDX-License-Identifier: Apache-2.0
// The options, tests and output of afp_lantest 4.5.1.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "cluster/cluster.hpp"
#include "cluster/rank_group.hpp"
#include "cluster/rank_options.hpp"
#include "existing_target.hpp"
#include "lantest_report.hpp"
#include "personality.hpp"
#include "targets/afp/commands.hpp"
#include "targets/afp/settings.hpp"
#include "targets/wire/url.hpp"
#include "threads/thread_runner.hpp"
#include "workloads/lantest/afp_run.hpp"
#include "workloads/lantest/dircache.hpp"
#include "workloads/lantest/op_tests.hpp"

namespace fsr::fsbench {

namespace {

using namespace lantest;

constexpr const char* kServerSettings = "/etc/netatalk/afp.conf";
constexpr const char* kVersions[] = {"3.0", "3.1", "3.2", "3.3", "3.4"};

struct Options {
  std::string url, host = "localhost", volume, user, password;
  unsigned port = 548;
  std::array<bool, std::size(kVersions)> version{};
  std::string tests;
  bool password_given = false, clear_text = false, cache_tests = false, fast = false, faster = false;
  bool each = false, debug = false;
  std::string password_file;
  std::string proc;  // a mount of /proc that shows the server's processes
  Settings settings;
  LantestReport::Options report;
  ClusterOptions cluster;
};

std::string own_name() {
  const passwd* entry = getpwuid(getuid());
  return entry ? entry->pw_name : "";
}

wire::Url server_of(const Options& o) {
  wire::Url url;
  if (!o.url.empty()) {
    url = wire::parse_url(o.url);
    if (url.user.find(':') != std::string::npos)
      throw std::runtime_error("a password is not allowed in a URL: use AFP_PASSWORD, --password-file or the prompt");
  } else {
    if (o.volume.empty()) throw std::runtime_error("expected a volume (-s) or a URL");
    url.scheme = "afp";
    url.host = o.host;
    url.port = uint16_t(o.port);
    url.user = o.user.empty() ? own_name() : o.user;
    url.path = "/" + o.volume;
    url.text = fmt::format("afp://{}@{}:{}/{}", url.user, o.host, o.port, o.volume);
  }
  for (size_t i = 0; i < std::size(kVersions); ++i)
    if (o.version[i]) url.options.emplace_back("version", kVersions[i]);
  if (!o.password_file.empty()) url.options.emplace_back("password-file", o.password_file);
  if (o.clear_text) url.options.emplace_back("uam", "cleartxt");
  return url;
}

// Exit statuses of the original when it can't start.
enum OriginalStatus { kUsage = 1, kNotConnected = 2, kNoVolume = 9, kNoLogin = 10 };

// Decides between AFP commands and operations.
void take_target(Options& o) {
  if (o.settings.as_operations && o.url.empty()) throw std::runtime_error("--operations: expected a URL or a directory");
  if (o.url.empty() || (o.url.starts_with("afp:") && !o.settings.as_operations)) return;
  o.settings.as_operations = true;
  if (o.clear_text || o.password_given || !o.password_file.empty() || o.each || !o.proc.empty() ||
      o.version != std::array<bool, std::size(kVersions)>{})
    throw std::runtime_error(
        "-3 to -7, -b, -V, -w, --cleartext, --password-file and --proc: only for AFP's commands; leave out, or give an AFP "
        "volume without --operations");
}

class Lantest {
 public:
  Lantest(const Options& options, Cluster& cluster, const std::atomic<int>& stop)
      : options_(of_rank(options, cluster)),
        cluster_(cluster),
        stop_(stop),
        ranks_(cluster, stop),
        report_(options_.report, options_.settings, clock_.now()) {
    clock_.heed(stop);
  }

  int run() try { return options_.settings.as_operations ? run_operations() : run_commands(); } catch (const afp::SetupError& e) {
    if (e.step != afp::SetupError::Step::session)
      status_of_failure_ = e.step == afp::SetupError::Step::login ? kNoLogin : kNoVolume;
    return refuse(e);
  } catch (const std::runtime_error& e) {
    return refuse(e);
  }

 private:
  // A session for AFP commands, on a thread of its own.
  struct AfpSession {
    explicit AfpSession(const afp::Settings& settings) : commands(std::make_unique<afp::Commands>(settings)) {}
    std::unique_ptr<afp::Commands> commands;
    std::optional<ServerCalls> calls;
  };
  using AfpSessions = std::vector<AfpSession>;

  // Gives each rank one session. Only the root prints.
  static Options of_rank(Options options, const Cluster& cluster) {
    if (cluster.size() == 1) return options;
    if (options.report.sessions > 1)
      throw std::runtime_error("--sessions: not possible with several ranks, which have one session each; leave --sessions out");
    if (!options.proc.empty()) throw std::runtime_error("--proc: not possible with several ranks; leave --proc out");
    options.report.sessions = cluster.size();
    options.report.processes = true;
    options.report.json = options.report.json || !cluster.root();
    if (!cluster.root()) options.report.database.clear();
    return options;
  }

  unsigned count() const { return ranks_.several() ? 1 : options_.report.sessions; }  // in this process
  unsigned session(unsigned i) const { return cluster_.rank() + i + 1; }
  unsigned number(unsigned i) const { return options_.report.sessions == 1 ? 0 : session(i); }  // number for test_directory()

  int refuse(const std::exception& why) const {
    if (!cluster_.root()) return 0;
    fmt::print(stderr, "fsbench lantest: {}\n", why.what());
    return options_.report.compat ? status_of_failure_ : 2;
  }

  int run_commands() {
    const wire::Url url = server_of(options_);
    status_of_failure_ = kNotConnected;
    report_.print_text(fmt::format("Connecting to host {}:{}\n", url.host, url.port ? url.port : afp::kPort));
    AfpSessions sessions;
    cluster_.on_all([&] { sessions = log_in(url); });
    report_.print_text("\n");
    std::vector<SessionEnd> ends(count());
    ranks_.work_with_barriers([&] {
      CommonStart start(count(), meeting());
      std::vector<std::jthread> others;
      for (unsigned i = 1; i < count(); ++i) others.emplace_back([&, i] { ends[i] = perform(sessions[i], i, start); });
      ends[0] = perform(sessions[0], 0, start);
    });
    const int status = finish(ends, url.text);
    if (status == 0 && cluster_.root() && is_this_machine(url.host)) print_cache_statistics();
    return status;
  }

  // Returns the function that lets the sessions of several ranks begin each test together. Empty: there is one rank.
  std::function<void()> meeting() {
    if (!ranks_.several()) return {};
    return [this] { (void)ranks_.barrier(); };  // if one is lost, the others' tests go on
  }

  // Reports the results on the root. Returns the exit status.
  int finish(std::vector<SessionEnd> ends, const std::string& target) {
    if (ranks_.several()) {
      SessionEnd mine = std::move(ends[0]);
      mine.ahead = -ranks_.offset().offset;
      const auto parts = ranks_.gather(mine);
      if (!cluster_.root()) return 0;
      ends.clear();
      size_t left = 0;
      for (const std::optional<SessionEnd>& part : parts) {
        left += part.has_value();
        ends.push_back(part.value_or(SessionEnd{.results = {}, .failure = {}, .directory = "LanTest-*"}));
      }
      if (!ranks_.lost().empty()) fmt::print(stderr, "fsbench lantest: {}\n", ranks_.lost_line(left));
    }
    return report_.ended(ends, target, stop_.load() > 0, clock_.now());
  }

  AfpSessions log_in(const wire::Url& url) {
    const afp::Settings login = afp::settings_of(url, {.clock = &clock_}, options_.password_given ? &options_.password : nullptr);
    if (login.clients.is_one_of_many())
      throw std::runtime_error("clients=" + std::to_string(login.clients.clients) +
                               ": lantest has one a session; use --sessions");
    std::string proc = options_.proc;
    std::error_code error;
    if (!ranks_.several() && proc.empty() && std::filesystem::exists("/proc_io/self", error)) proc = "/proc_io";
    if (!proc.empty()) report_.print_text(fmt::format("IO monitoring: {} is available\n", proc));
    AfpSessions sessions;
    for (unsigned i = 0; i < count(); ++i) {
      try {
        sessions.emplace_back(login);
      } catch (const afp::SetupError& e) {
        throw afp::SetupError(e.step, report_.name_of(session(i)) + e.what());
      } catch (const std::runtime_error& e) {
        throw std::runtime_error(report_.name_of(session(i)) + e.what());
      }
      if (!proc.empty() && !find_server(sessions, proc)) proc.clear();
    }
    return sessions;
  }

  // Finds the server process of the last session. False: it was not found, and calls are counted in no session.
  bool find_server(AfpSessions& sessions, const std::string& proc) const {
    const std::string& user = sessions.back().commands->settings().user;
    std::vector<int> known;
    for (const AfpSession& s : sessions)
      if (s.calls) known.push_back(s.calls->server());
    ServerCalls calls(proc, user);
    if (!calls.find(known)) {
      fmt::print(stderr, "fsbench lantest: {}; calls of the server are not counted\n", calls.problem());
      for (AfpSession& s : sessions) s.calls.reset();
      return false;
    }
    fmt::print(stderr, "{}", calls.warnings());
    report_.print_text(calls.found());
    sessions.back().calls.emplace(calls);
    return true;
  }

  // A rank may be stopped alone: its session is not complete then.
  template <class Tests>
  std::string failure_of(const Tests& tests) const {
    return tests.failure().empty() && stop_.load() != 0 ? "interrupted" : tests.failure();
  }

  SessionEnd perform(AfpSession& afp, unsigned i, CommonStart& start) const {
    AfpTests::Trace trace;
    const std::string who = report_.name_of(session(i));
    if (options_.each) trace = [&who](const std::string& line) { fmt::print(stderr, "{}{}\n", who, line); };
    const ServerCalls* calls = afp.calls ? &*afp.calls : nullptr;
    SessionEnd end;
    AfpRun run(
        *afp.commands, options_.settings, number(i), stop_, calls, options_.report.sessions > 1 ? &start : nullptr,
        [&](unsigned iteration, unsigned test, const Measures& measures) {
          report_.test_ended(session(i), iteration, test, measures, calls);
        },
        trace);
    run.run();
    const std::string failure = failure_of(run);
    end = {run.results(), failure,       run.directory(),
           run.made(),    run.removed(), run.failure().empty() && !failure.empty() ? kUsage : run.original_status()};
    afp.commands.reset();  // logs out
    return end;
  }

  static bool is_this_machine(const std::string& host) {
    return host == "localhost" || host == "127.0.0.1" || host.find("::1") != std::string::npos;
  }

  // Prints the statistics of the server's cache, which the server writes at the end of the session.
  void print_cache_statistics() const {
    if (options_.report.json || !std::filesystem::exists(kServerSettings)) return;
    sleep(1);
    report_.print_text(dircache_statistics(kServerSettings));
  }

  // Runs the tests as operations, for targets without AFP commands or at the user's request.
  int run_operations() {
    const Settings& settings = options_.settings;
    Barrier start(count());
    CommonStart with_ranks(count(), meeting());
    std::vector<std::unique_ptr<Target>> targets;
    std::vector<const OpTests*> tests;
    std::vector<SimThreadSpec> parts;
    ThreadRunner runner(clock_);
    cluster_.on_all([&] {
      for (unsigned i = 0; i < count(); ++i) {
        targets.push_back(open_existing(options_.url, clock_));
        runner.add(*targets.back(), 1);
      }
    });
    for (unsigned i = 0; i < count(); ++i) {
      auto thread = std::make_unique<OpTests>(settings, number(i), clock_, count() > 1 ? &start : nullptr,
                                              ranks_.several() ? &with_ranks : nullptr,
                                              [this, i](unsigned iteration, unsigned test, const Measures& measures) {
                                                report_.test_ended(session(i), iteration, test, measures, false);
                                              });
      tests.push_back(thread.get());
      parts.push_back({std::move(thread), i, i});
    }
    report_.print_text(fmt::format("Working on {}, by operations ({})\n\n", targets[0]->name(), way_to(targets[0]->name())));
    RunnerResult measured;
    ranks_.work_with_barriers([&] { measured = runner.run(parts, {.stop = &stop_}); });
    std::vector<SessionEnd> ends;
    for (const OpTests* t : tests)
      ends.push_back({t->results(), failure_of(*t), t->directory(), t->made(), t->removed() && !measured.abandoned});
    const int status = finish(ends, targets[0]->name());
    if (status || !cluster_.root() || tests[0]->impossible().empty()) return status;
    fmt::print(stderr, "fsbench lantest: test {} is not possible on this target\n", tests[0]->impossible());
    const Results& done = ends[0].results;
    return std::all_of(done.runs.begin(), done.runs.end(), [](const auto& runs) { return runs.empty(); }) ? 1 : 0;
  }

  const Options options_;
  Cluster& cluster_;
  const std::atomic<int>& stop_;
  RankGroup ranks_;
  MonotonicClock clock_;
  LantestReport report_;
  OriginalStatus status_of_failure_ = kUsage;  // if the run ends now
};

int run(Options options, const std::atomic<int>& stop) {
  options.cluster.stop = &stop;
  const std::string what = fmt::format("'{}' -h {} -p {} -s '{}' -f {} -n {} -F '{}' --percent {}", options.url, options.host,
                                       options.port, options.volume, options.settings.tests.to_ulong(),
                                       options.settings.iterations, options.settings.big_file, options.settings.percent);
  return on_ranks(options.cluster, what, [&](Cluster& cluster) { return Lantest(options, cluster, stop).run(); });
}

Run add(Command& command, const std::atomic<int>& stop) {
  auto o = std::make_shared<Options>();
  command.help_by_word_only();
  const Option url =
      command.add("URL", o->url, "afp://[user@]host[:port]/Volume instead of -h, -p, -u and -s; or a directory or other target");
  command.add("-h", o->host, "connect to this server (default localhost)").stands_for("HOST").excludes(url);
  command.add("-p", o->port, "connect to this port (default 548)").within(1, 65535).stands_for("PORT").excludes(url);
  command.add("-s", o->volume, "test this volume").stands_for("VOLUME").excludes(url);
  command.add("-u", o->user, "log in as this user (default: the current user)").stands_for("USER").excludes(url);
  command.add("-w", o->password, "give the password; other users can see -w, but not AFP_PASSWORD or the prompt")
      .stands_for("PASSWORD");
  command.add("--password-file", o->password_file, "read the password from the first line of this file").stands_for("FILE");
  command.flag("--operations", o->settings.as_operations, "use file operations on afp://, too, as on other targets");
  command.flag("--cleartext", o->clear_text, "send the password in clear text, as the original does");
  for (size_t i = 0; i < std::size(kVersions); ++i)
    command.flag("-" + std::to_string(i + 3), o->version[i], fmt::format("speak AFP {}", kVersions[i]));
  command.add("-n", o->settings.iterations, "run N iterations (default 2); the averages of more than 5 leave out extremes")
      .within(1, 256)
      .stands_for("N");
  const Option tests = command.add("-f", o->tests, "run these tests, such as 134; : ; < are 10 to 12").stands_for("TESTS");
  command.flag("-K", o->cache_tests, "run only the tests of the server's cache, 9 to 12").excludes(tests);
  command.add("-F", o->settings.big_file, "read a file of the volume's root in test 3").stands_for("FILE");
  const Option fast = command.flag("-g", o->fast, "use a file of 1 GB in tests 2 and 3");
  command.flag("-G", o->faster, "use a file of 10 GB in tests 2 and 3").excludes(fast);
  command.add("--percent", o->settings.percent, "run this percentage of all counts, for a trial").within(1, 100).stands_for("N");
  command.add("--sessions", o->report.sessions, "run N sessions at once, each with an own connection and test directory")
      .within(1, 1000)
      .stands_for("N");
  command.flag("-c", o->report.csv, "print results as CSV");
  command.flag("-v", o->report.detail, "print latency by command after the results");
  command.flag("-V", o->each, "print each command and its result on standard error");
  command.flag("-b", o->debug, "do the same as -V");
  command.add("--proc", o->proc, "count calls of the server's processes below this /proc (default /proc_io if that exists)")
      .stands_for("DIR");
  command.flag("--json", o->report.json, "print results as JSON instead of text");
  command.add("--results", o->report.database, "add all measurements to this SQLite file").stands_for("FILE");
  add_rank_options(command, o->cluster);
  command.flag("--compat", o->report.compat, "end with the exit statuses of the original");
  return [o, command, &stop](const auto&) mutable {
    Settings& settings = o->settings;
    try {
      if (!o->tests.empty()) settings.choose(o->tests);
    } catch (const std::invalid_argument& e) {
      throw std::runtime_error(fmt::format("-f {}", e.what()));
    }
    if (o->cache_tests) settings.choose_cache_tests();
    settings.complete();
    o->each |= o->debug;
    o->password_given = command.option("-w").given();
    take_target(*o);
    settings.big_size *= o->faster ? 100 : o->fast ? 10 : 1;
    settings.big_size = settings.big_size / 100 * settings.percent;
    return run(*o, stop);
  };
}

constexpr Compared kAsCompared = {
    .required = [](const Words& arguments, const Words& targets) -> Words {
      const auto afp = size_t(
          std::count_if(targets.begin(), targets.end(), [](const std::string& target) { return target.starts_with("afp://"); }));
      if (has_option(arguments, "--operations") || afp == 0 || afp == targets.size()) return {};
      return {"--operations"};
    },
    .why_required = "because not all targets speak AFP",
    .on = [](const std::string& target, unsigned, const Words&) -> Words { return {target}; },
};

}  // namespace

constinit const Personality kLantest = {.name = "lantest",
                                        .what = "runs AFP's twelve tests, command by command",
                                        .add = add,
                                        .on_ranks = true,
                                        .password_option = 'w',
                                        .compared = &kAsCompared};

}  // namespace fsr::fsbench
