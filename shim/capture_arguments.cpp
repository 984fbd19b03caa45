// SPDX-License-Identifier: Apache-2.0
#include "capture_arguments.hpp"

#include <unistd.h>

#include <bit>
#include <cstdio>
#include <map>

#include "capture_error.hpp"
#include "util/units.hpp"
#include "witness/witness_capture.hpp"

namespace fsr::shim {

namespace {

constexpr uint64_t kLeastPiece = 64 << 10;
constexpr uint64_t kLeastKernelRing = 64 << 10, kMostKernelRing = 1 << 30;
constexpr int64_t kLeastRing = 1'000'000, kMostRing = 60'000'000'000;    // ns
constexpr int64_t kLeastBlock = 10'000'000, kMostBlock = 1'000'000'000;  // ns

const std::map<std::string, Content> kContents{
    {"none", Content::none}, {"fingerprint", Content::fingerprint}, {"full", Content::full}};
const std::map<std::string, uint32_t> kClockUnits{{"1ns", 1}, {"100ns", 100}, {"1us", 1000}};
const std::map<std::string, CacheMode> kCacheModes{
    {"auto", CacheMode::kAuto}, {"none", CacheMode::kNone}, {"attr", CacheMode::kAttr}, {"kernel", CacheMode::kKernel}};
const std::map<std::string, Mappings> kMappings{
    {"auto", Mappings::kAuto}, {"lower", Mappings::kLower}, {"seen", Mappings::kSeen}};

// A parser of units.hpp that refuses nothing at all.
template <class Parser>
auto some(Parser parse) {
  return [parse](const std::string& text) {
    auto value = parse(text);
    if (value <= 0) throw std::invalid_argument("expected more than 0");
    return value;
  };
}

template <class Meaning>
std::vector<std::string> words_of(const std::map<std::string, Meaning>& table) {
  std::vector<std::string> words;
  for (const auto& [word, meaning] : table) words.push_back(word);
  return words;
}

// Returns what --via auto takes, "kernel" or "fuse", and tells the user.
std::string chosen_way(const CaptureOptions& options) {
  const std::string problem = why_not_witness(options);
  if (options.everywhere && !problem.empty()) throw CaptureError("--via auto: " + problem);
  dprintf(STDERR_FILENO, "fsshim: --via auto: captures %s%s\n", problem.empty() ? "at the kernel's hooks" : "by FUSE, because ",
          escape_text(problem).c_str());
  return problem.empty() ? "kernel" : "fuse";
}

}  // namespace

CaptureArguments::CaptureArguments(Program& program)
    : command_(program.subcommand("capture", "captures DIR until ^C, 'fsshim stop DIR' or the end of COMMAND")) {
  command_.add("DIR", options_.directory, "the directory to capture, which stays usable under the same name").required();
  command_.add("-o,--output", options_.output, "write this trace, and a .mix file beside it (default ./NAME-TIME.zst)")
      .stands_for("FILE");
  add_recorded();
  add_requests();
  add_hooks();
  add_trace();
  add_conduct();
  command_.explain_extras("a command follows --: fsshim capture DIR -- COMMAND...");
  command_.footer("-- COMMAND...  runs COMMAND in a private mount namespace and captures only this command and its children.");
}

void CaptureArguments::add_recorded() {
  command_.add("--content", content_, "record what is read and written: none, fingerprint, full")
      .stands_for("HOW")
      .one_of({"none", "fingerprint", "full"})
      .show_default();
  command_.add("--clock", clock_, "record times with a resolution of 1ns, 100ns, 1us")
      .stands_for("UNIT")
      .one_of(words_of(kClockUnits))
      .show_default();
}

// Ways of the FUSE file system alone.
void CaptureArguments::add_requests() {
  command_.add("--cache", cache_, "choose what the kernel may cache: auto, none, attr, kernel")
      .stands_for("WHAT")
      .one_of(words_of(kCacheModes))
      .show_default();
  command_.add("--mappings", mappings_, "choose what mmap(2) maps: auto, lower (DIR's own file, not recorded), seen (recorded)")
      .stands_for("HOW")
      .one_of(words_of(kMappings))
      .show_default();
  command_.flag("--force", options_.force, "start even if a process maps a file of DIR whose data may be lost");
  command_
      .add("--permissions", permissions_, "choose who checks permissions in addition to DIR's file system: auto (nobody), kernel")
      .stands_for("WHO")
      .one_of({"auto", "kernel"})
      .show_default();
  command_.add("--transport", transport_, "choose the transport of requests: auto, dev (/dev/fuse), uring (io_uring)")
      .stands_for("HOW")
      .one_of({"auto", "dev", "uring"})
      .show_default();
}

Option CaptureArguments::add_group(const char* name, std::vector<std::string>& into, const std::string& what) {
  auto take = [this, &into](const std::string& group) {
    into.push_back(group);
    options_.everywhere = true;
  };
  return command_.add_each(name, take, "capture everywhere only what this " + what + " does; repeatable (--via kernel)");
}

void CaptureArguments::add_hooks() {
  command_
      .add("--via", via_,
           "choose what sees operations: fuse (a file system over DIR), kernel (eBPF at the kernel's hooks; no mappings, no "
           "content), auto (kernel where possible, and says so)")
      .stands_for("WHAT")
      .one_of({"fuse", "kernel", "auto"})
      .show_default();
  command_
      .add_with("--kernel-ring", options_.kernel_ring, some(parse_size), "hold this much of records in the kernel (default 16M)")
      .stands_for("SIZE");
  command_.flag("--everywhere", options_.everywhere,
                "capture all processes, also those of containers, through whichever mount (--via kernel)");
  add_group("--cgroup", options_.cgroups, "control group").stands_for("PATH");
  add_group("--pod", options_.pods, "pod or container").stands_for("NAME");
}

void CaptureArguments::add_rule(const char* name, void (OpFilter::*add)(std::string_view), const char* help) {
  auto take = [this, add](const std::string& rule) { (options_.filter.*add)(rule); };
  command_.add_each(name, take, help).stands_for("RULE").often({"uid=", "process=", "op=", "path="});
}

void CaptureArguments::add_trace() {
  command_.add("--on-overflow", overflow_, "wait or drop operations when recording falls behind (default wait; with -o -: drop)")
      .stands_for("WHAT")
      .one_of({"wait", "drop"});
  command_
      .add_with("--ring", options_.ring, some(parse_duration),
                "hold operations in memory for this time while the trace's disk stalls (default 1s)")
      .stands_for("TIME");
  command_
      .add_with("--block-time", options_.block_time, some(parse_duration),
                "write a block of the trace after this time, 10ms to 1s (default 400ms; with -o -: 100ms)")
      .stands_for("TIME");
  command_.add_with("--max-size", options_.max_size, some(parse_size), "end when the trace is this large: 10G");
  command_.add_with("--max-time", options_.max_time, some(parse_duration), "end after this time: 90s, 1h");
  command_.add_with("--rotate", options_.rotate, some(parse_size), "write pieces of this size, NAME.0001.zst and so on")
      .stands_for("SIZE");
  command_.add("--keep", options_.keep, "keep only the last N pieces").within(1, 1'000'000);
  add_rule("--only", &OpFilter::only, "record only uid=, process=, op=A,B or path=GLOB; repeatable");
  add_rule("--exclude", &OpFilter::exclude, "leave out uid=, process=, op=A,B or path=GLOB; repeatable");
}

// The conduct of the capture beside recording.
void CaptureArguments::add_conduct() {
  command_
      .add_with("--stall", options_.stall, parse_duration,
                "report requests without a reply after this time (default 30s; 0s: never)")
      .stands_for("TIME");
  command_
      .add("--on-stall", on_stall_,
           "wait, or abort the FUSE connection, when fsshim itself delays requests for the time of --stall")
      .stands_for("WHAT")
      .one_of({"wait", "abort"})
      .show_default();
  command_.flag("--awake", options_.awake,
                "keep the machine's processors from sleeping while more than 1,000 requests a second come");
  command_.flag("--background", options_.background, "return once DIR is captured; messages go to NAME.log");
  command_.flag("-v,--verbose", options_.verbose, "print more messages");
}

void CaptureArguments::take_words() {
  CaptureOptions& o = options_;
  o.content = kContents.at(content_);
  o.clock_unit = kClockUnits.at(clock_);
  o.cache = kCacheModes.at(cache_);
  o.mappings = kMappings.at(mappings_);
  o.kernel_checks = permissions_ == "kernel";
  // Over io_uring each lock that waits keeps an entry of the ring, and eight of them end all service: only where asked for.
  o.uring = transport_ == "uring";
  o.transport_given = transport_ != "auto";
  o.overflow_given = !overflow_.empty();
  o.drop = overflow_ == "drop";
  o.abort_stalled = on_stall_ == "abort";
}

void CaptureArguments::check_sizes() const {
  const CaptureOptions& o = options_;
  if (o.keep && !o.rotate) throw CaptureError("--keep: requires --rotate SIZE");
  if (o.rotate && o.rotate < kLeastPiece)
    throw CaptureError("--rotate: expected pieces of at least 64k, found " + format_size(o.rotate));
  if (o.ring < kLeastRing || o.ring > kMostRing)
    throw CaptureError("--ring: expected 1ms to 60s, found " + format_duration(o.ring));
  if (o.block_time && (o.block_time < kLeastBlock || o.block_time > kMostBlock))
    throw CaptureError("--block-time: expected 10ms to 1s, found " + format_duration(o.block_time));
  if (o.kernel_ring < kLeastKernelRing || o.kernel_ring > kMostKernelRing || !std::has_single_bit(o.kernel_ring))
    throw CaptureError("--kernel-ring: expected a power of two from 64k to 1G, found " + format_size(o.kernel_ring));
}

int CaptureArguments::run(std::vector<std::string> command) {
  options_.command = std::move(command);
  take_words();
  if (via_ == "auto") via_ = chosen_way(options_);
  // Applications never wait for another program, unless its user says so.
  if (!options_.overflow_given && options_.output == "-" && via_ == "fuse") options_.drop = true;
  if (options_.everywhere && via_ == "fuse")
    throw CaptureError("--everywhere, --cgroup, --pod: only with --via kernel; give it, or leave them out");
  check_sizes();
  return via_ == "kernel" ? run_witness_capture(options_) : run_capture(options_);
}

}  // namespace fsr::shim
