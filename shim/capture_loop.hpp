// SPDX-License-Identifier: Apache-2.0
// The event loop of a running capture. Events are signals, the end of its command, its control socket, and the end of its
// connection.
//
// One thread, the process's main one. Signals must be blocked in the whole process before any thread starts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "command.hpp"
#include "control.hpp"
#include "fuse_session.hpp"
#include "live_status.hpp"
#include "stall_watch.hpp"
#include "trace_sink.hpp"

namespace fsr::shim {

struct CaptureParts {
  FuseSession& session;
  Recorder& recorder;
  TraceSink& sink;
  Shim& shim;
  ControlServer& control;
  CapturedCommand* command = nullptr;   // null: over-mount
  std::function<std::string()> detach;  // unmounts, so that new paths lead to the underlying directory; returns why it can't
  std::function<void(const std::string& reason)> close;  // completes the trace; may wait for its disk, in a thread of its own
  std::function<void()> give_up;                         // aborts the connection and ends the process, without the trace's end
  ControlFields fields;                                  // for status replies
  const StallWatch& stalls;
  std::function<std::vector<std::string>(bool closed, int64_t now)> news;  // lines for the user; called a few times a second
  int news_fd = -1;  // news() is also called when this descriptor has an exceptional condition (POLLPRI)
};

class CaptureLoop {
 public:
  explicit CaptureLoop(CaptureParts parts);
  ~CaptureLoop();

  // Serves until everything has ended; the trace is finished when it returns. Returns the command's status, 0 without one.
  int run();
  bool cut_off() const { return cut_off_; }  // a second signal ended it while files were open

 private:
  void wait(int milliseconds);
  void on_signal();
  void on_control();
  void end_over_mount(const std::string& reason);
  void serve_mapped(const std::string& reason);
  void end_command();
  void close_trace(const std::string& reason);
  void give_up_trace();
  void serve_leftovers();
  void on_progress();
  void answer_rotators();
  void show_status();
  void measure_rate();
  ControlFields status_fields() const;

  CaptureParts parts_;
  LiveStatus live_;
  int signal_fd_;
  int status_ = 0;
  enum class Trace { open, closing, closed } trace_ = Trace::open;
  std::string stop_reason_;    // reason of a requested end; empty: none was requested
  std::string still_mounted_;  // reason why the mount could not be unmounted
  std::string served_;         // processes for whose mappings the mount stays
  std::vector<int> stoppers_;
  struct Rotator {
    int client;
    unsigned piece;  // at the time of the request
  };
  std::vector<Rotator> rotators_;
  std::string rotation_failure_;  // already reported
  int64_t measured_at_ = 0;       // for the rates in status replies: counts at that time, and the rates until then
  uint64_t operations_then_ = 0, data_bytes_then_ = 0, rate_ = 0, data_rate_ = 0;
  bool disconnected_ = false;  // the connection is gone; the session ends when the file system beneath has answered all requests
  bool command_ended_ = false, reported_failure_ = false, cut_off_ = false;
};

}  // namespace fsr::shim
