// SPDX-License-Identifier: Apache-2.0
#include "witness_capture.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <system_error>
#include <utility>

#include "../background.hpp"
#include "../capture_error.hpp"
#include "../capture_summary.hpp"
#include "../captured_directory.hpp"
#include "../command.hpp"
#include "../control.hpp"
#include "../output.hpp"
#include "../process_limits.hpp"
#include "../signals.hpp"
#include "../trace_header.hpp"
#include "cgroups.hpp"
#include "early_filter.hpp"
#include "fence.hpp"
#include "trace/unseen_names.hpp"
#include "util/clock_ns.hpp"
#include "util/units.hpp"
#include "witness_recorder.hpp"

namespace fsr::shim {

namespace {

constexpr const char* kVisibility =
    "kernel hooks: each operation on open files, names and attributes, and lookups that fail; a name's first use is preceded by "
    "a lookup marked as inferred; not: lookups that succeed, entries of listings, content, loads and stores of mappings but for "
    "page faults, ioctl, chdir, syncfs, file systems mounted inside, operations that the kernel refuses by itself (EEXIST, "
    "EISDIR, "
    "ENOTDIR, ELOOP); an operation longer than 0.5 s may start later in the trace";

// Returns what stands against such a capture in the options. Empty: nothing.
std::string option_problem(const CaptureOptions& options) {
  const CaptureOptions usual;
  if (options.content != Content::none)
    return "--content: not possible with --via kernel, which does not see what is read and written; leave one out";
  const struct {
    bool given;
    const char* name;
  } of_fuse[] = {{options.cache != usual.cache, "--cache"},
                 {options.mappings != usual.mappings, "--mappings"},
                 {options.kernel_checks, "--permissions"},
                 {options.transport_given, "--transport"},
                 {options.ring != usual.ring, "--ring"},
                 {options.overflow_given, "--on-overflow"},  // nothing ever waits, and what finds no room is dropped
                 {options.stall != usual.stall, "--stall"},
                 {options.force, "--force"},
                 {options.abort_stalled, "--on-stall"},
                 {options.awake, "--awake"}};  // no call waits for another process
  for (const auto& option : of_fuse)
    if (option.given)
      return std::string(option.name) + ": not possible with --via kernel; leave " + option.name + " or --via out";
  if (options.everywhere && !options.command.empty())
    return "--everywhere, --cgroup, --pod: not possible with a command, which is captured alone; leave one out";
  if (options.cgroups.size() + options.pods.size() > kWitnessCgroups)
    return "--cgroup, --pod: at most " + std::to_string(kWitnessCgroups) + " at a time";
  if (geteuid() != 0) return "--via kernel: run as root, or leave --via out";
  return {};
}

std::vector<ChosenCgroup> chosen_cgroups(const CaptureOptions& options) {
  std::vector<ChosenCgroup> chosen;
  for (const std::string& path : options.cgroups) chosen.push_back(cgroup_at(path));
  for (const std::string& name : options.pods) chosen.push_back(cgroup_of_pod(name));
  return chosen;
}

pid_t process_of(const std::unique_ptr<CapturedCommand>& command) { return command ? command->pid() : 0; }

constexpr const char* kFenceGone = "somebody took the mount over the directory away";
constexpr const char* kDirectoryGone = "the directory was renamed, replaced or removed";
constexpr const char* kGroupsGone = "the control group has ended";

// Where a directory lies now, as the kernel has it. Mounts over it change nothing.
std::string place_of(int directory) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(directory), error);
}

class WitnessCapture {
 public:
  explicit WitnessCapture(CaptureOptions& options);
  int run();

 private:
  TraceHeader make_header();
  std::string captured_processes() const;
  WitnessScope scope() const;
  int64_t begin_trace();
  SinkOptions sink_options();
  void describe_unseen(TraceClosing& closing);
  std::string losses() const;
  void wait(int milliseconds);
  void look_for_ends();
  void on_signal();
  void on_control();
  ControlFields status_fields() const;
  int close_trace();

  CaptureOptions& options_;
  const std::unique_ptr<Background> parent_;  // null: stays in the foreground
  const ProcessSettings original_;
  const std::vector<ChosenCgroup> cgroups_;
  const CapturedDirectory captured_;
  const std::string place_;  // of the directory at the start
  CaptureOutput output_;
  TraceHeader header_;
  ControlFields fields_;
  ControlServer control_;
  const std::unique_ptr<Fence> fence_;              // null: nothing is mounted over DIR
  const std::unique_ptr<CapturedCommand> command_;  // null: others are captured
  const int64_t epoch_;
  TraceSink sink_;
  WitnessRecorder recorder_;
  const UniqueFd signals_;
  const UniqueFd mounts_;                 // tells changes of mounts (proc(5)); closed without a fence
  std::atomic<uint32_t> groups_gone_{0};  // bits by index into cgroups_
  bool directory_gone_ = false;
  std::vector<int> stoppers_;  // clients that wait for the end
  std::string stop_reason_;    // without a command; empty: the capture goes on
  std::string still_mounted_;  // why the fence could not be taken away
  int status_ = 0;
  bool ended_ = false, said_ = false;
};

WitnessCapture::WitnessCapture(CaptureOptions& options)
    : options_(options),
      parent_(go_to_background(options.background, !options.command.empty())),
      original_(leave_surroundings()),
      cgroups_(chosen_cgroups(options)),
      captured_(find_captured(options)),
      place_(place_of(captured_.root.get())),
      output_(options.output, captured_.path, captured_.root.get(), options.rotate != 0, options.background),
      header_(make_header()),
      fields_{{"directory", captured_.path}, {"trace", output_.full_name()}, {"command", header_.command}},
      control_(fields_),
      fence_(options.command.empty() && !options.everywhere ? std::make_unique<Fence>(captured_, output_.log_fd(), control_)
                                                            : nullptr),
      command_(options.command.empty()
                   ? nullptr
                   : std::make_unique<CapturedCommand>(options.command, original_, [this] { mount_private_fence(captured_); })),
      epoch_(begin_trace()),
      sink_(output_.take_trace_fd(), header_, sink_options()),
      recorder_(sink_, scope(), options.kernel_ring, epoch_),
      signals_(open_signals()),
      mounts_(fence_ ? open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC) : -1) {
  tell_processor_time_limit("the trace ends then");
  recorder_.start([this] {
    struct stat s;
    if (command_)
      command_->look_at(captured_.path);
    else if (fence_)
      (void)!stat(captured_.path.c_str(), &s);
    else
      (void)!fstatat(captured_.root.get(), "", &s, AT_EMPTY_PATH);
  });
}

TraceHeader WitnessCapture::make_header() {
  TraceHeader header = describe(options_, captured_.path, captured_.below, "");
  header.visibility = kVisibility;
  if (options_.everywhere)
    header.visibility += "; captured: " + captured_processes() + ", through any mount" +
                         (cgroups_.empty() ? "" : "; not: names that other processes change");
  header.transport = "kernel hooks, eBPF";
  header.identity = directory_identity(captured_.root.get());
  report_limits(captured_, header, "", true);
  // First, because only a few entries are shown.
  if (options_.everywhere) header.not_seen.insert(header.not_seen.begin(), kNamesAcross);
  if (!cgroups_.empty()) header.not_seen.insert(header.not_seen.begin(), kNamesOfOthers);
  for (const std::string& mount : header.mounts_below) header.not_seen.push_back("mounted inside: " + mount);
  return header;
}

std::string WitnessCapture::captured_processes() const {
  if (cgroups_.empty()) return "all processes";
  std::string groups;
  for (const ChosenCgroup& group : cgroups_) groups += (groups.empty() ? "" : ", ") + group.path;
  return "processes of " + groups;
}

WitnessScope WitnessCapture::scope() const {
  WitnessScope scope{
      .command = process_of(command_), .everywhere = options_.everywhere, .cgroups = {}, .filter = early_filter(options_.filter)};
  for (const ChosenCgroup& group : cgroups_) scope.cgroups.push_back(group.fd.get());
  return scope;
}

int64_t WitnessCapture::begin_trace() {
  header_.epoch = clock_ns(CLOCK_REALTIME);
  return header_.monotonic = clock_ns(CLOCK_MONOTONIC);
}

SinkOptions WitnessCapture::sink_options() {
  return {.max_bytes = options_.max_size,
          .max_time = options_.max_time,
          .rotate_bytes = options_.rotate,
          .stream = output_.is_stream(),
          .block_time = options_.block_time,
          .arrival_age = WitnessRecorder::kWindow,
          .keep = options_.keep,
          .filter = options_.filter.empty() ? nullptr : &options_.filter,
          .pieces = &output_,
          .nfs_counters = [point = captured_.below.point] { return nfs_counters_of(point); },
          .left_out = [this] { return recorder_.left_out(); },
          .mounted_meanwhile = [this](TraceClosing& closing) { describe_unseen(closing); }};
}

void WitnessCapture::describe_unseen(TraceClosing& closing) {
  const WitnessCounters counters = recorder_.counters();
  if (counters.async) closing.not_seen.push_back(format_count(counters.async) + " reads and writes by io_uring and aio");
  if (!recorder_.absent().empty()) {
    std::string names;
    for (const std::string& name : recorder_.absent()) names += (names.empty() ? "" : ", ") + name;
    closing.not_seen.push_back("what io_uring and aio do, if they are used: the kernel shows no function " + names);
  }
  if (const uint64_t unended = recorder_.unended())
    closing.not_seen.push_back(format_count(unended) + " reads and writes by io_uring and aio that had not ended");
  if (counters.mappings)
    closing.not_seen.push_back("loads and stores of " + format_count(counters.mappings) + " mappings, but for page faults");
  if (counters.faults) closing.not_seen.push_back("up to " + format_count(counters.faults) + " page faults");
  if (counters.others) closing.not_seen.push_back(format_count(counters.others) + kNamesChanged);
  if (counters.crossings)
    closing.not_seen.push_back(format_count(counters.crossings) + " renames and links between the directory and others");
  for (size_t i = 0; i < cgroups_.size(); ++i)
    if (groups_gone_ >> i & 1) closing.not_seen.push_back("processes of " + cgroups_[i].path + " after this group had ended");
  if (!recorder_.unended_known()) closing.not_seen.push_back("calls that had not ended");
  if (const uint64_t skipped = recorder_.skipped())
    closing.not_seen.push_back("what " + format_count(skipped) + " skipped calls of hooks would have shown");
  if (recorder_.late())
    closing.not_seen.push_back("the starts of " + format_count(recorder_.late()) + " operations longer than 0.5 s");
}

// Says why operations were dropped. Empty: none was.
std::string WitnessCapture::losses() const {
  const struct {
    witness_loss why;
    std::string text;
  } causes[] = {
      {kWitnessNoRoom, "the ring was full (give a larger --kernel-ring)"},
      {kWitnessNoMemory, "the kernel had no memory"},
      {kWitnessTooDeep, "directories were nested too deeply"},
      {kWitnessTooManyFiles, "more than " + format_count(kWitnessOpenFiles) + " files were open"},
      {kWitnessTooManyRequests, "more than " + format_count(kWitnessRequests) + " requests of io_uring and aio had not ended"}};
  const auto counts = recorder_.counters().losses;
  std::string text;
  for (const auto& cause : causes)
    if (counts[cause.why]) text += (text.empty() ? ": " : ", ") + format_count(counts[cause.why]) + " because " + cause.text;
  const uint64_t lost = recorder_.lost();
  return lost ? format_count(lost) + " operations were dropped" + text : "";
}

void WitnessCapture::wait(int milliseconds) {
  pollfd fds[] = {{signals_.get(), POLLIN, 0}, {control_.fd(), POLLIN, 0}, {mounts_.get(), POLLPRI, 0}};
  poll(fds, 3, milliseconds);
  if (fds[0].revents) on_signal();
  if (fds[1].revents) on_control();
  if (fds[2].revents && fence_->gone()) stop_reason_ = kFenceGone;
  look_for_ends();
  if (recorder_.recording() || std::exchange(said_, true)) return;
  const bool failed = !recorder_.failure().empty();
  if (!command_ && stop_reason_.empty()) stop_reason_ = recorder_.reason();
  dprintf(STDERR_FILENO, "fsshim: recording %s: %s%s\n", failed ? "stopped" : "ended", escape_text(recorder_.reason()).c_str(),
          command_ ? "; the command goes on" : "");
}

// Finds out whether what is captured exists no more. Others would work on something else at the same path, unseen.
void WitnessCapture::look_for_ends() {
  if (!options_.everywhere || !recorder_.recording()) return;
  if (!directory_gone_ && place_of(captured_.root.get()) != place_) {
    directory_gone_ = true;
    stop_reason_ = kDirectoryGone;
  }
  uint32_t gone = groups_gone_;
  for (size_t i = 0; i < cgroups_.size(); ++i) {
    if (gone >> i & 1 || !cgroups_[i].ended()) continue;
    gone |= 1U << i;
    dprintf(STDERR_FILENO, "fsshim: %s: the control group has ended; what has its name from now on is not captured\n",
            escape_text(cgroups_[i].path).c_str());
  }
  groups_gone_ = gone;
  if (gone && gone == (1U << cgroups_.size()) - 1 && stop_reason_.empty()) stop_reason_ = kGroupsGone;
}

// The command gets the signals, but for those that the terminal has sent to it as well.
void WitnessCapture::on_signal() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == ssize_t(sizeof info)) {
    if (info.ssi_signo == SIGCHLD)
      ended_ = (command_ && command_->ended(&status_)) || ended_;
    else if (!command_)
      stop_reason_ = std::string("SIG") + sigabbrev_np(int(info.ssi_signo));
    else if (info.ssi_code != SI_KERNEL || (info.ssi_signo == SIGHUP && getsid(0) == getpid()))
      command_->send(int(info.ssi_signo));
  }
}

ControlFields WitnessCapture::status_fields() const {
  ControlFields fields = fields_;
  fields["state"] = recorder_.recording() ? "recording" : "stopped";
  fields["failure"] = recorder_.failure();
  fields["still_mounted"] = still_mounted_;
  fields["rotation_failure"] = sink_.rotation_failure();
  auto number = [&](const char* name, uint64_t value) { fields[name] = std::to_string(value); };
  number("operations", sink_.operations());
  number("elapsed", uint64_t(recorder_.now()));
  number("bytes", sink_.data_bytes());
  number("trace_bytes", sink_.trace_bytes());
  number("pieces", sink_.piece());
  number("dropped", recorder_.lost());
  number("filtered", sink_.filtered());
  fields.merge(sink_.latencies().fields());
  return fields;
}

void WitnessCapture::on_control() {
  int client = -1;
  const std::string request = control_.next(&client);
  if (request == "stop" || request == "stop now") {
    stoppers_.push_back(client);
    if (command_)
      command_->send(SIGTERM);
    else
      stop_reason_ = "fsshim stop";
  } else if (client >= 0 && !request.empty()) {
    if (request == "rotate") sink_.request_rotation();
    ControlServer::reply(client, status_fields());
  }
}

int WitnessCapture::close_trace() {
  look_for_ends();
  if (fence_) still_mounted_ = fence_->remove();
  recorder_.stop(!command_        ? stop_reason_
                 : status_ >= 128 ? "command killed by signal " + std::to_string(status_ - 128)
                                  : "command ended");
  const uint64_t lost = recorder_.lost(), skipped = recorder_.skipped();
  std::string failure = recorder_.failure();
  if (failure.empty()) failure = losses();
  if (failure.empty() && skipped)
    failure = format_count(skipped) + " calls of hooks were skipped, so that operations may be missing";
  if (failure.empty() && stop_reason_ == kFenceGone) failure = kFenceGone;
  if (failure.empty() && directory_gone_) failure = kDirectoryGone;
  if (failure.empty() && groups_gone_) failure = "a control group has ended";
  if (failure.empty() && !sink_.rotation_failure().empty()) failure = "rotation failed: " + sink_.rotation_failure();
  if (failure.empty() && sink_.removed()) failure = "removed during the capture";
  try {
    output_.write_mix(sink_.by_kind());
  } catch (const std::exception& e) {
    if (failure.empty()) failure = e.what();
  }
  print_summary(sink_, output_, lost + sink_.lost(), 0, options_.verbose);
  const auto left_out = recorder_.left_out();
  if (const uint64_t sum = std::accumulate(left_out.begin(), left_out.end(), uint64_t(0)); sum && options_.verbose)
    dprintf(STDERR_FILENO, "fsshim: %s operations were filtered out in the kernel\n", format_count(sum).c_str());
  if (!failure.empty()) {
    dprintf(STDERR_FILENO, "fsshim: %s: not complete: %s\n", escape_text(output_.trace()).c_str(), escape_text(failure).c_str());
    if (status_ == 0) status_ = 1;
  }
  if (!still_mounted_.empty()) {
    dprintf(STDERR_FILENO, "fsshim: %s: still mounted over itself: %s\n", escape_text(captured_.path).c_str(),
            escape_text(still_mounted_).c_str());
    if (status_ == 0) status_ = 1;
  }
  ControlFields fields = status_fields();
  fields["failure"] = failure;
  fields["ends"] = "now";
  for (int client : stoppers_) ControlServer::reply(client, fields);
  return status_;
}

int WitnessCapture::run() {
  if (command_) command_->go();
  output_.keep();
  if (parent_) parent_->ready(captured_.path, output_);
  notify_service_manager("READY=1");
  if (options_.verbose)
    dprintf(STDERR_FILENO, "fsshim: capturing %s (%s) at %u hooks of the kernel%s, trace %s\n",
            escape_text(captured_.path).c_str(), captured_.below.type.c_str(), recorder_.hooks(),
            options_.everywhere ? escape_text(": " + captured_processes()).c_str() : "", escape_text(output_.trace()).c_str());
  while (!ended_ && stop_reason_.empty()) wait(200);
  return close_trace();
}

}  // namespace

std::string why_not_witness(const CaptureOptions& options) {
  const std::string problem = option_problem(options);
  return problem.empty() ? witness_problem() : problem;
}

int run_witness_capture(CaptureOptions& options) {
  if (const std::string problem = option_problem(options); !problem.empty()) throw CaptureError(problem);
  return WitnessCapture(options).run();
}

}  // namespace fsr::shim
