// SPDX-License-Identifier: Apache-2.0
// afp_lantest 4.5.1's options, tests and output.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "existing_target.hpp"
#include "lantest_database.hpp"
#include "stage/stage.hpp"
#include "subcommand.hpp"
#include "targets/afp/commands.hpp"
#include "targets/afp/settings.hpp"
#include "targets/wire/url.hpp"
#include "util/environment.hpp"
#include "workloads/lantest/afp_run.hpp"
#include "workloads/lantest/dircache.hpp"
#include "workloads/lantest/layout.hpp"
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
  bool password_given = false, clear_text = false, cache_tests = false, fast = false, faster = false, csv = false;
  bool detail = false, each = false, debug = false, compat = false, json = false;
  std::string password_file;
  std::string proc;     // where the server's processes are to be seen
  std::string results;  // the database
  Settings settings;
};

std::string own_name() {
  const passwd* entry = getpwuid(getuid());
  return entry ? entry->pw_name : "";
}

wire::Url server_of(const Options& o) {
  wire::Url url;
  if (!o.url.empty()) {
    url = wire::parse_url(o.url);
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

std::string program_text() { return fmt::format("fsbench {}{}{}", FSR_VERSION, *kCommit ? " " : "", kCommit); }

// As ps(1) shows it, so that a password is not in it.
std::string own_command() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return command_text(words);
}

// What the original ends with when it can't start.
enum OriginalStatus { kUsage = 1, kNotConnected = 2, kNoVolume = 9, kNoLogin = 10 };

// AFP's commands, or operations.
void take_target(Options& o) {
  if (o.settings.as_operations && o.url.empty()) throw std::runtime_error("--operations: expected a URL or a directory");
  if (o.url.empty() || (o.url.starts_with("afp:") && !o.settings.as_operations)) return;
  o.settings.as_operations = true;
  if (o.clear_text || o.password_given || !o.password_file.empty() || o.each || !o.proc.empty() ||
      o.version != std::array<bool, std::size(kVersions)>{})
    throw std::runtime_error("-3 to -7, -b, -V, -w, --cleartext, --password-file and --proc are for AFP's commands only");
}

class Lantest {
 public:
  Lantest(const Options& options, const std::atomic<int>& stop) : options_(options), stop_(stop) { clock_.heed(stop); }

  int run() try {
    if (!options_.results.empty()) {
      database_.emplace(options_.results);
      origin_ = origin_facts(program_text(), own_command(),
                             std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1), environment());
    }
    started_ = clock_.now();
    if (options_.settings.as_operations) return run_operations();
    const wire::Url url = server_of(options_);
    status_of_failure_ = kNotConnected;
    say(fmt::format("Connecting to host {}:{}\n", url.host, url.port ? url.port : afp::kPort));
    const std::string* password = options_.password_given ? &options_.password : nullptr;
    {
      afp::Commands commands(afp::settings_of(url, {.clock = &clock_}, password));
      find_server(commands.settings().user);
      say("\n");
      if (const int status = perform(commands)) return status;
    }
    print();
    keep(url.text);
    if (is_this_machine(url.host)) say_cache();
    return 0;
  } catch (const afp::SetupError& e) {
    if (e.step != afp::SetupError::Step::session)
      status_of_failure_ = e.step == afp::SetupError::Step::login ? kNoLogin : kNoVolume;
    return refuse(e);
  } catch (const std::runtime_error& e) {
    return refuse(e);
  }

 private:
  void say(const std::string& text) const {
    if (options_.json) return;
    fputs(text.c_str(), stdout);
    fflush(stdout);
  }

  int refuse(const std::exception& why) const {
    fmt::print(stderr, "fsbench lantest: {}\n", why.what());
    return options_.compat ? status_of_failure_ : 2;
  }

  // The session has begun, so its process is there.
  void find_server(const std::string& user) {
    std::string proc = options_.proc;
    std::error_code error;
    if (proc.empty() && std::filesystem::exists("/proc_io/self", error)) proc = "/proc_io";
    if (proc.empty()) return;
    say(fmt::format("IO monitoring: {} is available\n", proc));
    calls_.emplace(proc, user);
    if (!calls_->find()) {
      fmt::print(stderr, "fsbench lantest: {}: the server's calls are not counted\n", calls_->problem());
      calls_.reset();
      return;
    }
    if (calls_->ids()) say(fmt::format("Found cnid_dbd process for user '{}': PID {}\n", user, calls_->ids()));
    say(fmt::format("Found privilege-dropped afpd process for user '{}': PID {}\n", user, calls_->server()));
    say(fmt::format("IO monitoring enabled (afpd: {}, cnid_dbd: {})\n", calls_->server(), calls_->ids()));
  }

  int perform(afp::Commands& commands) {
    const Settings& settings = options_.settings;
    AfpTests::Trace trace;
    if (options_.each) trace = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
    AfpRun run(
        commands, settings, stop_, calls_ ? &*calls_ : nullptr,
        [&](unsigned iteration, unsigned test, const Measures& measures) {
          say(run_line(settings, iteration, test, measures, calls_.has_value()));
        },
        trace);
    const bool well = run.run();
    results_ = run.results();
    if (run.made() && run.removed()) say(fmt::format("Successfully deleted test directory '{}'\n", run.directory()));
    if (well) return 0;
    const int status = complain(run.failure(), run.removed(), run.directory());
    return options_.compat && !stop_.load() ? run.original_status() : status;
  }

  void print() const {
    const Settings& settings = options_.settings;
    if (options_.json) {
      fmt::print("{}\n", json(settings, results_).dump(2));
      return;
    }
    say(heading(settings) + (options_.csv ? csv : table)(settings, results_));
    if (options_.detail) say(latencies(settings, results_));
  }

  void keep(const std::string& target) {
    if (database_) lantest_database(*database_, origin_, target, clock_.now() - started_, options_.settings, results_);
  }

  static bool is_this_machine(const std::string& host) {
    return host == "localhost" || host == "127.0.0.1" || host.find("::1") != std::string::npos;
  }

  // The server writes it at the end of the session.
  void say_cache() const {
    if (options_.json || !std::filesystem::exists(kServerSettings)) return;
    sleep(1);
    say(dircache_statistics(kServerSettings));
  }

  // Where there are no AFP commands to be made, or they are not wanted.
  int run_operations() {
    const Settings& settings = options_.settings;
    std::unique_ptr<Target> target = open_existing(options_.url, clock_);
    say(fmt::format("Working on {}, by operations\n\n", target->name()));
    auto player = std::make_unique<OpTests>(settings, clock_, [&](unsigned iteration, unsigned test, const Measures& measures) {
      say(run_line(settings, iteration, test, measures, false));
    });
    const OpTests& tests = *player;
    std::vector<Part> parts;
    parts.push_back({std::move(player), 0, 0});
    Stage stage(clock_);
    stage.add(*target, 1);
    const Played played = stage.play(parts, {.stop = &stop_});
    results_ = tests.results();
    const bool removed = tests.removed() && !played.abandoned;
    if (removed && tests.failure().empty()) say(fmt::format("Successfully deleted test directory '{}'\n", tests.directory()));
    if (stop_.load() || !tests.failure().empty() || !removed) return complain(tests.failure(), removed, tests.directory());
    print();
    keep(target->name());
    if (!tests.impossible().empty())
      fmt::print(stderr, "fsbench lantest: test {} is not possible on this target\n", tests.impossible());
    return 0;
  }

  int complain(const std::string& failure, bool removed, const std::string& directory) const {
    std::string why = stop_.load() ? "interrupted" : failure;
    if (!removed) why += fmt::format("{}the test directory '{}' may be left behind", why.empty() ? "" : "; ", directory);
    fmt::print(stderr, "fsbench lantest: {}\n", why);
    return 1;
  }

  const Options options_;
  const std::atomic<int>& stop_;
  MonotonicClock clock_;
  std::optional<ServerCalls> calls_;
  Results results_;
  std::optional<ResultsDatabase> database_;
  Facts origin_;
  int64_t started_ = 0;
  OriginalStatus status_of_failure_ = kUsage;  // if the run ends now
};

}  // namespace

Run add_lantest(Command& command, const std::atomic<int>& stop) {
  auto o = std::make_shared<Options>();
  command.help_by_word_only();
  const Option url =
      command.add("URL", o->url, "afp://[user@]host[:port]/Volume in place of -h, -p, -u and -s; or a directory or other target");
  command.add("-h", o->host, "server (default localhost)").stands_for("HOST").excludes(url);
  command.add("-p", o->port, "its port (default 548)").within(1, 65535).stands_for("PORT").excludes(url);
  command.add("-s", o->volume, "volume to work on").stands_for("VOLUME").excludes(url);
  command.add("-u", o->user, "user (default the one who runs this)").stands_for("USER").excludes(url);
  command.add("-w", o->password, "password; AFP_PASSWORD or the prompt keep it from others").stands_for("PASSWORD");
  command.add("--password-file", o->password_file, "the password is its first line").stands_for("FILE");
  command.flag("--operations", o->settings.as_operations, "performs operations on afp:// too, as on all other targets");
  command.flag("--cleartext", o->clear_text, "sends the password in clear text, as the original does");
  for (size_t i = 0; i < std::size(kVersions); ++i)
    command.flag("-" + std::to_string(i + 3), o->version[i], fmt::format("speaks AFP {}", kVersions[i]));
  command.add("-n", o->settings.iterations, "iterations (default 2); of more than 5 the extremes are left out")
      .within(1, 256)
      .stands_for("N");
  const Option tests = command.add("-f", o->tests, "tests, such as 134; : ; < are 10 to 12").stands_for("TESTS");
  command.flag("-K", o->cache_tests, "only the tests of the server's cache, 9 to 12").excludes(tests);
  command.add("-F", o->settings.big_file, "reads a file of the volume's root in test 3").stands_for("FILE");
  const Option fast = command.flag("-g", o->fast, "a file of 1 GB in tests 2 and 3");
  command.flag("-G", o->faster, "a file of 10 GB").excludes(fast);
  command.add("--percent", o->settings.percent, "this percentage of all counts, to try it out").within(1, 100).stands_for("N");
  command.flag("-c", o->csv, "results as CSV");
  command.flag("-v", o->detail, "after the results, latency by command");
  command.flag("-V", o->each, "prints each command and its result, on standard error");
  command.flag("-b", o->debug, "likewise");
  command.add("--proc", o->proc, "counts calls of the server's processes, seen there; default /proc_io, if it is there")
      .stands_for("DIR");
  command.flag("--json", o->json, "results as JSON, in place of all text");
  command.add("--results", o->results, "adds everything measured to this SQLite file").stands_for("FILE");
  command.flag("--compat", o->compat, "ends with the original's statuses");
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
    return Lantest(*o, stop).run();
  };
}

}  // namespace fsr::fsbench
