// SPDX-License-Identifier: Apache-2.0
#include "capture_loop.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include "elapsed.hpp"
#include "process_limits.hpp"
#include "signals.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

constexpr int kGraceMs = 500;        // ms for releases that follow the last close
constexpr int kLeftBehindMs = 5000;  // ms for processes that a command left in the background
constexpr int kCloseMs = 5000;       // ms for the trace's disk, before the user gets a message

std::string signal_name(uint32_t number) { return std::string("SIG") + sigabbrev_np(int(number)); }

}  // namespace

CaptureLoop::CaptureLoop(CaptureParts parts) : parts_(std::move(parts)), signal_fd_(open_signals()) {}

CaptureLoop::~CaptureLoop() {
  live_.clear();
  for (int client : stoppers_) close(client);
  for (const Rotator& r : rotators_) close(r.client);
  close(signal_fd_);
}

int CaptureLoop::run() {
  while (stop_reason_.empty() && !command_ended_ && !parts_.session.ended() && !disconnected_) wait(200);
  const ReservedDescriptors to_end;
  if (parts_.command)
    end_command();
  else
    end_over_mount(stop_reason_.empty() ? "unmounted" : stop_reason_);
  return status_;
}

void CaptureLoop::wait(int milliseconds) {
  pollfd fds[] = {{signal_fd_, POLLIN, 0},
                  {parts_.control.fd(), POLLIN, 0},
                  {parts_.news_fd, POLLPRI, 0},
                  {parts_.session.ended_fd(), POLLIN, 0},
                  {parts_.session.connection_fd(), 0, 0}};
  // A descriptor stays readable once its object has ended. A command's mount is in a namespace of its own.
  if (parts_.session.ended()) fds[3].fd = -1;
  if (parts_.session.ended() || parts_.command || disconnected_) fds[4].fd = -1;
  poll(fds, std::size(fds), milliseconds);
  if (fds[4].revents) disconnected_ = true;
  if (fds[0].revents) on_signal();
  if (fds[1].revents) on_control();
  remind_interrupted_locks();
  on_progress();
}

void CaptureLoop::on_progress() {
  std::string failure = parts_.recorder.failure();
  if (!failure.empty() && !reported_failure_) {
    live_.clear();
    dprintf(STDERR_FILENO, "fsshim: recording stopped: %s; applications go on\n", failure.c_str());
    reported_failure_ = true;
  } else if (trace_ == Trace::open && !parts_.recorder.recording() && !reported_failure_) {
    // A limit was reached. A command has no part in that; applications below an over-mount get their directory back.
    live_.clear();
    dprintf(STDERR_FILENO, "fsshim: recording ended: %s\n", parts_.recorder.reason().c_str());
    reported_failure_ = true;
    if (!parts_.command && stop_reason_.empty()) stop_reason_ = parts_.recorder.reason();
  }
  if (!parts_.command && stop_reason_.empty() && parts_.shim.strangers.came())
    stop_reason_ = "used by a process outside this pid namespace";
  if (std::string why = parts_.sink.rotation_failure(); why != rotation_failure_) {
    live_.clear();
    dprintf(STDERR_FILENO, "fsshim: no new piece of the trace: %s; recording goes on in the old piece\n",
            escape_text(why).c_str());
    rotation_failure_ = why;
  }
  for (const std::string& line : parts_.news(trace_ != Trace::open, parts_.recorder.now())) {
    live_.clear();
    dprintf(STDERR_FILENO, "fsshim: %s\n", escape_text(line).c_str());
  }
  answer_rotators();
  measure_rate();
  show_status();
}

void CaptureLoop::answer_rotators() {
  if (rotators_.empty() || (parts_.sink.rotation_pending() && parts_.recorder.recording())) return;
  for (const Rotator& r : rotators_) {
    ControlFields fields = status_fields();
    if (parts_.sink.piece() == r.piece && fields["failure"].empty()) fields["failure"] = fields["rotation_failure"];
    if (parts_.sink.piece() == r.piece && fields["failure"].empty()) fields["failure"] = "the capture does not record any more";
    ControlServer::reply(r.client, fields);
  }
  rotators_.clear();
}

void CaptureLoop::measure_rate() {
  const int64_t now = parts_.recorder.now(), span = now - measured_at_;
  if (span < 1'000'000'000) return;
  const uint64_t operations = parts_.sink.operations(), bytes = parts_.sink.data_bytes();
  rate_ = uint64_t(double(operations - operations_then_) * 1e9 / double(span));
  data_rate_ = uint64_t(double(bytes - data_bytes_then_) * 1e9 / double(span));
  measured_at_ = now;
  operations_then_ = operations;
  data_bytes_then_ = bytes;
}

void CaptureLoop::show_status() {
  int64_t now = parts_.recorder.now();
  if (trace_ != Trace::open || !live_.due(now)) return;
  live_.show({now, parts_.sink.operations(), parts_.sink.data_bytes(), parts_.sink.trace_bytes(), parts_.recorder.ring_fill(),
              parts_.recorder.recording()});
}

void CaptureLoop::on_signal() {
  signalfd_siginfo info;
  while (read(signal_fd_, &info, sizeof info) == ssize_t(sizeof info)) {
    if (info.ssi_signo == SIGCHLD) {
      if (parts_.command && parts_.command->ended(&status_)) command_ended_ = true;
    } else if (parts_.command && !command_ended_) {
      // The terminal sends its signals to the command as well, except a hangup, which only the session's leader gets.
      if (info.ssi_code != SI_KERNEL || (info.ssi_signo == SIGHUP && getsid(0) == getpid()))
        parts_.command->send(int(info.ssi_signo));
    } else if (stop_reason_.empty()) {
      stop_reason_ = signal_name(info.ssi_signo);
    } else {
      cut_off_ = true;
    }
  }
}

void CaptureLoop::on_control() {
  int client = -1;
  std::string request = parts_.control.next(&client);
  if (request == "status") {
    ControlServer::reply(client, status_fields());
  } else if (request == "rotate") {
    if (trace_ != Trace::open || !parts_.recorder.recording())
      return ControlServer::reply(client, {{"failure", "the capture does not record any more"}});
    rotators_.push_back({client, parts_.sink.piece()});
    parts_.sink.request_rotation();
  } else if (request == "stop" || request == "stop now") {
    cut_off_ = cut_off_ || request == "stop now";
    if (trace_ == Trace::closed) return ControlServer::reply(client, status_fields());
    stoppers_.push_back(client);
    if (parts_.command && !command_ended_)
      parts_.command->send(SIGTERM);
    else if (stop_reason_.empty())
      stop_reason_ = "fsshim stop";
  } else if (client >= 0 && !request.empty()) {
    ControlServer::reply(client, {{"error", "unknown request"}});
  }
}

ControlFields CaptureLoop::status_fields() const {
  ControlFields fields = parts_.fields;
  fields["operations"] = std::to_string(parts_.sink.operations());
  fields["state"] = trace_ == Trace::closed       ? "serving"
                    : trace_ == Trace::closing    ? "closing"
                    : parts_.recorder.recording() ? "recording"
                                                  : "stopped";
  fields["failure"] = parts_.recorder.failure();
  fields["still_mounted"] = still_mounted_;
  if (trace_ == Trace::closed && (parts_.session.ended() || cut_off_))
    fields["ends"] = "now";
  else
    fields["served"] = served_;
  fields["rotation_failure"] = parts_.sink.rotation_failure();
  auto number = [&](const char* name, uint64_t value) { fields[name] = std::to_string(value); };
  number("elapsed", uint64_t(parts_.recorder.now()));
  number("rate", rate_);
  number("bytes", parts_.sink.data_bytes());
  number("byte_rate", data_rate_);
  number("trace_bytes", parts_.sink.trace_bytes());
  number("pieces", parts_.sink.piece());
  number("ring_percent", uint64_t(parts_.recorder.ring_fill() * 100));
  fields["ring_time"] = std::to_string(parts_.recorder.ring_time());
  number("ring_bytes", parts_.recorder.ring_bytes());
  number("waited", parts_.recorder.waited());
  number("dropped", parts_.recorder.dropped());
  number("filtered", parts_.sink.filtered());
  number("stalled", parts_.stalls.count());
  fields.merge(parts_.sink.latencies().fields());
  for (const std::string& line : parts_.stalls.stalled()) fields["stalls"] += (fields["stalls"].empty() ? "" : "; ") + line;
  return fields;
}

void CaptureLoop::close_trace(const std::string& reason) {
  live_.clear();
  trace_ = Trace::closing;
  std::atomic<bool> done = false;
  const auto close = [&] {
    parts_.close(reason);
    done = true;
  };
  std::thread closing;
  try {
    closing = std::thread(close);
  } catch (const std::system_error&) {  // a limit on processes: this thread has to wait for the disk itself
    close();
  }
  bool reported = false;
  for (const Elapsed waited; !done;) {
    wait(int(std::min<int64_t>(20, 1 + waited.ms() / 10)));
    if (waited.ms() < kCloseMs) continue;
    if (!std::exchange(reported, true)) {
      dprintf(
          STDERR_FILENO,
          "fsshim: the disk of the trace does not answer; waiting for the disk (^C ends without the last part of the trace)\n");
      stop_reason_ = reason;
    } else if (cut_off_) {
      give_up_trace();
    }
  }
  if (closing.joinable()) closing.join();
  trace_ = Trace::closed;
  for (int client : stoppers_) ControlServer::reply(client, status_fields());
  stoppers_.clear();
}

void CaptureLoop::give_up_trace() {
  dprintf(STDERR_FILENO, "fsshim: the last part of the trace was not written\n");
  ControlFields fields = status_fields();
  fields["failure"] = "the last part of the trace was not written";
  for (int client : stoppers_) ControlServer::reply(client, fields);
  parts_.give_up();
}

void CaptureLoop::end_over_mount(const std::string& reason) {
  serve_mapped(reason);
  still_mounted_ = parts_.detach();
  for (const Elapsed waited; waited.ms() < kGraceMs && !parts_.session.ended() && !cut_off_;) wait(20);
  if (trace_ == Trace::open) close_trace(reason);
  serve_leftovers();
}

// Leaves the mount in place while mappings beneath it differ from those of the directory. Otherwise a process that opens a file
// anew would have another mapping than processes beneath the mount, and its data would be lost.
void CaptureLoop::serve_mapped(const std::string& reason) {
  if (parts_.session.ended() || disconnected_ || cut_off_ || (served_ = parts_.shim.processes_keeping_pages()).empty()) return;
  close_trace(reason);
  dprintf(STDERR_FILENO, "fsshim: stopped recording; still serving %s; ^C or 'fsshim stop --now' cuts these processes off\n",
          escape_text(served_).c_str());
  while (!served_.empty() && !parts_.session.ended() && !disconnected_ && !cut_off_) {
    wait(200);
    served_ = parts_.shim.processes_keeping_pages();
  }
}

void CaptureLoop::serve_leftovers() {
  if (!still_mounted_.empty()) {
    dprintf(STDERR_FILENO, "fsshim: still mounted: %s; serving the directory until unmounted (^C ends at once)\n",
            escape_text(still_mounted_).c_str());
    while (!still_mounted_.empty() && !parts_.session.ended() && !cut_off_) {
      wait(200);
      still_mounted_ = parts_.detach();
    }
    if (!still_mounted_.empty()) status_ = 1;
  }
  if (parts_.session.ended() || cut_off_) return;
  size_t files;
  {
    std::lock_guard lock(parts_.shim.handles_mutex);
    files = parts_.shim.handles.size();
  }
  if (disconnected_)
    dprintf(STDERR_FILENO,
            "fsshim: connection gone, but the underlying file system has not answered all requests; fsshim ends when it has (^C "
            "ends at once)\n");
  else if (files > 0)
    dprintf(STDERR_FILENO, "fsshim: applications still hold %zu open files; serving until the last is closed (^C ends at once)\n",
            files);
  else
    dprintf(STDERR_FILENO,
            "fsshim: directory still in use, by a mapping, as a working directory, or in a newer mount namespace; serving until "
            "the use ends (^C ends at once)\n");
  while (!parts_.session.ended() && !cut_off_) wait(200);
}

void CaptureLoop::end_command() {
  // The connection ends with the mount, the mount with its namespace, and that with the last process in it.
  for (const Elapsed waited; waited.ms() < kLeftBehindMs && !parts_.session.ended();) wait(50);
  const bool cut = !parts_.session.ended();
  if (cut) parts_.detach();
  for (const Elapsed waited; waited.ms() < kGraceMs && !parts_.session.ended();) wait(20);
  if (cut && !parts_.session.ended())
    dprintf(STDERR_FILENO, "fsshim: processes that the command left behind lose their open files\n");
  while (!command_ended_) wait(200);  // the mount went first
  close_trace(status_ >= 128 ? "command killed by signal " + std::to_string(status_ - 128) : "command ended");
}

}  // namespace fsr::shim
