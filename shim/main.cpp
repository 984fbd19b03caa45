// SPDX-License-Identifier: Apache-2.0
// fsshim: the command line.
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <map>
#include <string_view>

#include "capture_error.hpp"
#include "subcommands.hpp"
#include "util/command.hpp"
#include "util/standard_streams.hpp"
#include "util/units.hpp"
#include "witness/witness_capture.hpp"

using namespace fsr;
using namespace fsr::shim;

constexpr uint64_t kLeastPiece = 64 << 10;
constexpr uint64_t kLeastKernelRing = 64 << 10, kMostKernelRing = 1 << 30;
constexpr int64_t kLeastRing = 1'000'000, kMostRing = 60'000'000'000;    // ns
constexpr int64_t kLeastBlock = 10'000'000, kMostBlock = 1'000'000'000;  // ns

// A parser of units.hpp that refuses nothing at all.
template <class Parser>
static auto some(Parser parse) {
  return [parse](const std::string& text) {
    auto value = parse(text);
    if (value <= 0) throw std::invalid_argument("expected more than 0");
    return value;
  };
}

template <class Meaning>
static std::vector<std::string> words_of(const std::map<std::string, Meaning>& table) {
  std::vector<std::string> words;
  for (const auto& [word, meaning] : table) words.push_back(word);
  return words;
}

// Returns what --via auto takes, "kernel" or "fuse", and tells the user.
static std::string chosen_way(const CaptureOptions& options) {
  const std::string problem = why_not_witness(options);
  if (options.everywhere && !problem.empty()) throw CaptureError("--via auto: " + problem);
  dprintf(STDERR_FILENO, "fsshim: --via auto: captures %s%s\n", problem.empty() ? "at the kernel's hooks" : "by FUSE, because ",
          escape_text(problem).c_str());
  return problem.empty() ? "kernel" : "fuse";
}

static int run(int argc, char** argv) {
  Program program("fsshim", "Records what applications do to the files of a directory.");
  program.common_options();
  program.require_subcommand();

  CaptureOptions capture;
  const std::map<std::string, uint32_t> units{{"1ns", 1}, {"100ns", 100}, {"1us", 1000}};
  const std::map<std::string, CacheMode> modes{
      {"auto", CacheMode::kAuto}, {"none", CacheMode::kNone}, {"attr", CacheMode::kAttr}, {"kernel", CacheMode::kKernel}};
  const std::map<std::string, Mappings> mapping_words{
      {"auto", Mappings::kAuto}, {"lower", Mappings::kLower}, {"seen", Mappings::kSeen}};
  std::string content = "none", mappings = "auto", clock = "100ns", transport = "auto", overflow, cache = "auto",
              permissions = "auto", on_stall = "wait", via = "fuse";
  Command capture_command = program.subcommand("capture", "captures DIR until ^C, 'fsshim stop DIR' or the end of COMMAND");
  capture_command.add("DIR", capture.directory, "the directory to capture, which stays usable under the same name").required();
  capture_command.add("-o,--output", capture.output, "write this trace, and a .mix file beside it (default ./NAME-TIME.zst)")
      .stands_for("FILE");
  capture_command.add("--content", content, "record what is read and written: none, fingerprint, full")
      .stands_for("HOW")
      .one_of({"none", "fingerprint", "full"})
      .show_default();
  capture_command.add("--clock", clock, "record times with a resolution of 1ns, 100ns, 1us")
      .stands_for("UNIT")
      .one_of(words_of(units))
      .show_default();
  capture_command.add("--cache", cache, "choose what the kernel may cache: auto, none, attr, kernel")
      .stands_for("WHAT")
      .one_of(words_of(modes))
      .show_default();
  capture_command
      .add("--mappings", mappings, "choose what mmap(2) maps: auto, lower (DIR's own file, not recorded), seen (recorded)")
      .stands_for("HOW")
      .one_of(words_of(mapping_words))
      .show_default();
  capture_command.flag("--force", capture.force, "start even if a process maps a file of DIR whose data may be lost");
  capture_command
      .add("--permissions", permissions, "choose who checks permissions in addition to DIR's file system: auto (nobody), kernel")
      .stands_for("WHO")
      .one_of({"auto", "kernel"})
      .show_default();
  capture_command.add("--transport", transport, "choose the transport of requests: auto, dev (/dev/fuse), uring (io_uring)")
      .stands_for("HOW")
      .one_of({"auto", "dev", "uring"})
      .show_default();
  capture_command
      .add("--via", via,
           "choose what sees operations: fuse (a file system over DIR), kernel (eBPF at the kernel's hooks; no mappings, no "
           "content), auto (kernel where possible, and says so)")
      .stands_for("WHAT")
      .one_of({"fuse", "kernel", "auto"})
      .show_default();
  capture_command
      .add_with("--kernel-ring", capture.kernel_ring, some(parse_size), "hold this much of records in the kernel (default 16M)")
      .stands_for("SIZE");
  capture_command.flag("--everywhere", capture.everywhere,
                       "capture all processes, also those of containers, through whichever mount (--via kernel)");
  auto groups = [&](const char* name, std::vector<std::string>& into, const char* help) {
    return capture_command.add_each(
        name,
        [&capture, &into](const std::string& group) {
          into.push_back(group);
          capture.everywhere = true;
        },
        help);
  };
  groups("--cgroup", capture.cgroups, "capture everywhere only what this control group does; repeatable (--via kernel)")
      .stands_for("PATH");
  groups("--pod", capture.pods, "capture everywhere only what this pod or container does; repeatable (--via kernel)")
      .stands_for("NAME");
  capture_command
      .add("--on-overflow", overflow, "wait or drop operations when recording falls behind (default wait; with -o -: drop)")
      .stands_for("WHAT")
      .one_of({"wait", "drop"});
  capture_command
      .add_with("--ring", capture.ring, some(parse_duration),
                "hold operations in memory for this time while the trace's disk stalls (default 1s)")
      .stands_for("TIME");
  capture_command
      .add_with("--block-time", capture.block_time, some(parse_duration),
                "write a block of the trace after this time, 10ms to 1s (default 400ms; with -o -: 100ms)")
      .stands_for("TIME");
  capture_command.add_with("--max-size", capture.max_size, some(parse_size), "end when the trace is this large: 10G");
  capture_command.add_with("--max-time", capture.max_time, some(parse_duration), "end after this time: 90s, 1h");
  capture_command.add_with("--rotate", capture.rotate, some(parse_size), "write pieces of this size, NAME.0001.zst and so on")
      .stands_for("SIZE");
  capture_command.add("--keep", capture.keep, "keep only the last N pieces").within(1, 1'000'000);
  auto rules = [&](const char* name, void (OpFilter::*add)(std::string_view), const char* help) {
    capture_command
        .add_each(
            name, [&capture, add](const std::string& rule) { (capture.filter.*add)(rule); }, help)
        .stands_for("RULE")
        .often({"uid=", "process=", "op=", "path="});
  };
  rules("--only", &OpFilter::only, "record only uid=, process=, op=A,B or path=GLOB; repeatable");
  rules("--exclude", &OpFilter::exclude, "leave out uid=, process=, op=A,B or path=GLOB; repeatable");
  capture_command
      .add_with("--stall", capture.stall, parse_duration,
                "report requests without a reply after this time (default 30s; 0s: never)")
      .stands_for("TIME");
  capture_command
      .add("--on-stall", on_stall,
           "wait, or abort the FUSE connection, when fsshim itself delays requests for the time of --stall")
      .stands_for("WHAT")
      .one_of({"wait", "abort"})
      .show_default();
  capture_command.flag("--awake", capture.awake,
                       "keep the machine's processors from sleeping while more than 1,000 requests a second come");
  capture_command.flag("--background", capture.background, "return once DIR is captured; messages go to NAME.log");
  capture_command.flag("-v,--verbose", capture.verbose, "print more messages");
  capture_command.explain_extras("a command follows --: fsshim capture DIR -- COMMAND...");
  capture_command.footer(
      "-- COMMAND...  runs COMMAND in a private mount namespace and captures only this command and its children.");

  std::string check_directory;
  bool calls_only = false;
  Command check_command = program.subcommand("check", "prints what a capture of DIR would cost and what the trace would miss");
  check_command.add("DIR", check_directory, "the directory to capture").required();
  check_command.flag("--calls-only", calls_only, "measure calls on DIR only, without a capture");

  bool json = false;
  Command list_command = program.subcommand("list", "shows running captures");
  list_command.flag("--json", json, "print JSON on standard output");
  std::string metrics;
  list_command.add("--metrics", metrics, "write Prometheus text into this file (replaced as a whole)").stands_for("FILE");
  std::string rotate_directory;
  Command rotate_command = program.subcommand("rotate", "continues the trace in a new piece");
  rotate_command.add("DIR", rotate_directory, "the captured directory").required();
  std::string stop_directory;
  Command stop_command = program.subcommand("stop", "ends the capture of DIR, or cleans up after a capture that died");
  stop_command.add("DIR", stop_directory, "the captured directory").required();
  bool stop_now = false;
  stop_command.flag("--now", stop_now, "cut off processes that still use files of DIR");

  std::string abort_directory;
  Command abort_command = program.subcommand("abort", "aborts the capture of DIR: requests fail at once, also those in flight");
  abort_command.add("DIR", abort_directory, "the captured directory, as 'fsshim list' shows it").required();

  // The command is not ours to parse.
  int own = 1;
  while (own < argc && std::string_view(argv[own]) != "--") ++own;
  try {
    if (auto status = program.parse(own, argv)) return *status;
  } catch (const UsageError& e) {
    dprintf(STDERR_FILENO, "fsshim: %s (see fsshim --help)\n", e.what());
    return 2;
  }
  try {
    if (!capture_command.chosen() && own < argc) throw CaptureError("only capture takes a command after --");
    if (check_command.chosen()) return run_check(check_directory, calls_only);
    if (list_command.chosen()) return run_list(json, metrics);
    if (rotate_command.chosen()) return run_rotate(rotate_directory);
    if (stop_command.chosen()) return run_stop(stop_directory, stop_now);
    if (abort_command.chosen()) return run_abort(abort_directory);
    if (own + 1 == argc) throw CaptureError("expected a command after --");
    if (own < argc) capture.command.assign(argv + own + 1, argv + argc);
    capture.cache = modes.at(cache);
    capture.mappings = mapping_words.at(mappings);
    capture.kernel_checks = permissions == "kernel";
    capture.content = content == "full" ? Content::full : content == "fingerprint" ? Content::fingerprint : Content::none;
    capture.clock_unit = units.at(clock);
    // Over io_uring each lock that waits keeps an entry of the ring, and eight of them end all service: only where asked for.
    capture.uring = transport == "uring";
    capture.drop = overflow == "drop";
    capture.overflow_given = !overflow.empty();
    capture.transport_given = transport != "auto";
    capture.abort_stalled = on_stall == "abort";
    if (via == "auto") via = chosen_way(capture);
    if (capture.everywhere && via == "fuse")
      throw CaptureError("--everywhere, --cgroup, --pod: only with --via kernel; give it, or leave them out");
    // Applications never wait for another program, unless its user says so.
    if (overflow.empty() && capture.output == "-" && via == "fuse") capture.drop = true;
    if (capture.keep && !capture.rotate) throw CaptureError("--keep: requires --rotate SIZE");
    if (capture.rotate && capture.rotate < kLeastPiece)
      throw CaptureError("--rotate: expected pieces of at least 64k, found " + format_size(capture.rotate));
    if (capture.ring < kLeastRing || capture.ring > kMostRing)
      throw CaptureError("--ring: expected 1ms to 60s, found " + format_duration(capture.ring));
    if (capture.block_time && (capture.block_time < kLeastBlock || capture.block_time > kMostBlock))
      throw CaptureError("--block-time: expected 10ms to 1s, found " + format_duration(capture.block_time));
    if (capture.kernel_ring < kLeastKernelRing || capture.kernel_ring > kMostKernelRing ||
        !std::has_single_bit(capture.kernel_ring))
      throw CaptureError("--kernel-ring: expected a power of two from 64k to 1G, found " + format_size(capture.kernel_ring));
    if (via == "kernel") return run_witness_capture(capture);
    return run_capture(capture);
  } catch (const std::exception& e) {
    // File names in it may hold line breaks and terminal controls.
    dprintf(STDERR_FILENO, "fsshim: %s\n", escape_text(e.what()).c_str());
    const auto* not_run = dynamic_cast<const CommandError*>(&e);
    return not_run ? not_run->status : 2;
  }
}

int main(int argc, char** argv) {
  occupy_standard_streams();
  return status_of_output("fsshim", run(argc, argv));
}
