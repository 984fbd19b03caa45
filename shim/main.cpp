// SPDX-License-Identifier: Apache-2.0
// fsshim: the command line.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string_view>

#include "fail.hpp"
#include "subcommands.hpp"
#include "util/units.hpp"

using namespace fsr;

constexpr uint64_t kLeastPiece = 64 << 10;
constexpr uint64_t kLeastRing = 2 << 20, kMostRing = uint64_t(4) << 30;  // the largest request with its content needs 1.1 MiB

// A file that took the number of a closed stderr would get the messages: the trace, for one. A command finds them closed as
// before.
static void occupy_standard_descriptors() {
  int fd;
  do fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  while (fd >= 0 && fd <= 2);
  if (fd > 2) close(fd);
}

// An option whose text is parsed by one of util/units.hpp; its complaint becomes CLI11's.
template <class T, class Parser>
static void with_unit(CLI::App* app, const char* name, T& value, Parser parse, const char* help) {
  auto take = [&value, parse, name](const std::string& text) {
    try {
      value = T(parse(text));
    } catch (const std::invalid_argument& e) {
      throw CLI::ValidationError(std::string(name) + " " + text, e.what());
    }
    if (value <= 0) throw CLI::ValidationError(std::string(name) + " " + text, "expected more than nothing");
  };
  app->add_option_function<std::string>(name, take, help);
}

int main(int argc, char** argv) {
  occupy_standard_descriptors();
  CLI::App app{"Records what applications do to the files of a directory."};
  app.name("fsshim");
  app.set_version_flag("--version", "fsshim " FSR_VERSION);
  app.require_subcommand(1);

  CaptureOptions capture;
  const std::map<std::string, uint32_t> units{{"1ns", 1}, {"100ns", 100}, {"1us", 1000}};
  const std::map<std::string, CacheMode> modes{
      {"auto", CacheMode::kAuto}, {"none", CacheMode::kNone}, {"attr", CacheMode::kAttr}, {"kernel", CacheMode::kKernel}};
  std::string content = "none", clock = "100ns", transport = "dev", overflow = "wait", cache = "auto";
  auto* capture_command = app.add_subcommand("capture", "Capture DIR until ^C, 'fsshim stop DIR' or the end of COMMAND");
  capture_command->add_option("DIR", capture.directory, "The directory to capture; it stays usable under its own name")
      ->required();
  capture_command->add_option("-o,--output", capture.output, "Trace file (default ./NAME-TIME.zst; a .mix file goes beside it)");
  capture_command->add_option("--content", content, "Record what is read and written: none, fingerprint, full")
      ->check(CLI::IsMember({"none", "fingerprint", "full"}))
      ->capture_default_str();
  capture_command->add_option("--clock", clock, "Resolution of times: 1ns, 100ns, 1us")
      ->check(CLI::IsMember(units))
      ->capture_default_str();
  capture_command->add_option("--cache", cache, "What the kernel may keep: auto, none, attr, kernel")
      ->check(CLI::IsMember(modes))
      ->capture_default_str();
  capture_command->add_option("--transport", transport, "How requests arrive: dev (/dev/fuse), uring (io_uring)")
      ->check(CLI::IsMember({"dev", "uring"}))
      ->capture_default_str();
  capture_command->add_option("--on-overflow", overflow, "When recording falls behind: wait, or drop operations")
      ->check(CLI::IsMember({"wait", "drop"}))
      ->capture_default_str();
  with_unit(capture_command, "--ring", capture.ring, parse_size, "Memory per serving thread that bridges this (default 4M)");
  with_unit(capture_command, "--max-size", capture.max_size, parse_size, "End when the trace is this large: 10G");
  with_unit(capture_command, "--max-time", capture.max_time, parse_duration, "End after this time: 90s, 1h");
  with_unit(capture_command, "--rotate", capture.rotate, parse_size, "Write pieces of this size, NAME.0001.zst and so on");
  capture_command->add_option("--keep", capture.keep, "Keep only the last N pieces")->check(CLI::Range(1u, 1'000'000u));
  auto rules = [&](const char* name, void (OpFilter::*add)(std::string_view), const char* help) {
    auto parse = [&capture, add, name](const std::vector<std::string>& given) {
      for (const std::string& rule : given) try {
          (capture.filter.*add)(rule);
        } catch (const std::invalid_argument& e) {
          throw CLI::ValidationError(std::string(name), e.what());
        }
    };
    capture_command->add_option_function<std::vector<std::string>>(name, parse, help)->allow_extra_args(false);
  };
  rules("--only", &OpFilter::only, "Record only uid=, process=, op=A,B or path=GLOB; repeatable");
  rules("--exclude", &OpFilter::exclude, "Do not record uid=, process=, op=A,B or path=GLOB; repeatable");
  capture_command->add_flag("--background", capture.background, "Return once DIR is captured; messages go to NAME.log");
  capture_command->add_flag("-v,--verbose", capture.verbose, "Say more");
  capture_command->footer(
      "-- COMMAND...  runs COMMAND and captures only what it and its children do, in a private mount namespace.");

  bool json = false;
  auto* list_command = app.add_subcommand("list", "Show running captures");
  list_command->add_flag("--json", json, "JSON on standard output");
  std::string rotate_directory;
  auto* rotate_command = app.add_subcommand("rotate", "Go on in a new piece of the trace");
  rotate_command->add_option("DIR", rotate_directory, "The captured directory")->required();
  std::string stop_directory;
  auto* stop_command = app.add_subcommand("stop", "End the capture of DIR, or clean up after one that died");
  stop_command->add_option("DIR", stop_directory, "The captured directory")->required();

  // The command is not ours to parse.
  int own = 1;
  while (own < argc && std::string_view(argv[own]) != "--") ++own;
  try {
    app.parse(own, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    dprintf(STDERR_FILENO, "fsshim: %s (see fsshim --help)\n", e.what());
    return 2;
  }
  try {
    if (!capture_command->parsed() && own < argc) throw Fail("only capture takes a command after --");
    if (list_command->parsed()) return run_list(json);
    if (rotate_command->parsed()) return run_rotate(rotate_directory);
    if (stop_command->parsed()) return run_stop(stop_directory);
    if (own + 1 == argc) throw Fail("expected a command after --");
    if (own < argc) capture.command.assign(argv + own + 1, argv + argc);
    capture.cache = modes.at(cache);
    capture.content = content == "full" ? Content::full : content == "fingerprint" ? Content::fingerprint : Content::none;
    capture.clock_unit = units.at(clock);
    capture.uring = transport == "uring";
    capture.drop = overflow == "drop";
    if (capture.keep && !capture.rotate) throw Fail("--keep: needs --rotate SIZE");
    if (capture.rotate && capture.rotate < kLeastPiece) throw Fail("--rotate: pieces of 64k at least");
    if (capture.ring && (capture.ring < kLeastRing || capture.ring > kMostRing)) throw Fail("--ring: expected 2M to 4G");
    return run_capture(capture);
  } catch (const std::exception& e) {
    // File names in it may hold line breaks and terminal controls.
    dprintf(STDERR_FILENO, "fsshim: %s\n", escape_text(e.what()).c_str());
    const auto* not_run = dynamic_cast<const NotRun*>(&e);
    return not_run ? not_run->status : 2;
  }
}
