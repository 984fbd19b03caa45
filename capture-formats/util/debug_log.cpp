// SPDX-License-Identifier: Apache-2.0
#include "util/debug_log.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace fsr {

namespace {

constexpr const char* kAreaNames[kLogAreas] = {"wire", "plan", "shim"};
constexpr size_t kLastLines = 32;

// The lines of one process.
class DebugLog {
 public:
  explicit DebugLog(DebugLog* parent) : parent_(parent) {}

  // Writes what is left and ends the thread.
  void end() {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    if (writer_.joinable()) writer_.join();
  }

  void add(std::string line) {
    std::lock_guard lock(mutex_);
    if (last_.size() == kLastLines) last_.pop_front();
    last_.push_back(line);
    if (unwritten_.size() == kMostLogLines) {
      ++left_out_;
      return;
    }
    unwritten_.push_back(std::move(line));
    if (!writer_.joinable()) writer_ = std::thread([this] { write_all(); });
    if (unwritten_.size() == 1) changed_.notify_all();
  }

  void flush() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(1), [this] { return unwritten_.empty() && !writing_; });
  }

  std::string last() {
    std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& line : last_) text += line;
    return text;
  }

 private:
  void write_all() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || !unwritten_.empty(); });
      if (unwritten_.empty()) return;
      const std::deque<std::string> lines = std::exchange(unwritten_, {});
      const uint64_t left_out = std::exchange(left_out_, 0);
      writing_ = true;
      lock.unlock();
      std::string text;
      for (const std::string& line : lines) text += line;
      if (left_out) text += fmt::format("{} debug lines are missing here, because more came than could be written\n", left_out);
      for (size_t done = 0; done < text.size();) {
        const ssize_t written = write(STDERR_FILENO, text.data() + done, text.size() - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) break;  // stderr is closed, or its disk is full: the lines are lost
        done += size_t(written);
      }
      lock.lock();
      writing_ = false;
      changed_.notify_all();
    }
  }

  [[maybe_unused]] DebugLog* const parent_;  // keeps the log that a forked process inherited reachable
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> unwritten_, last_;
  uint64_t left_out_ = 0;
  bool ending_ = false, writing_ = false;
  std::thread writer_;
};

std::atomic<DebugLog*> current{nullptr};

// Returns the log of this process. A forked process has none of its parent's threads, and perhaps a locked mutex; so it begins a
// log of its own.
DebugLog& debug_log() {
  [[maybe_unused]] static const bool begun = [] {
    current = new DebugLog(nullptr);
    pthread_atfork(nullptr, nullptr, [] { current = new DebugLog(current); });
    atexit([] { current.load()->end(); });
    return true;
  }();
  return *current;
}

std::string time_of_day() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tm local;
  localtime_r(&now.tv_sec, &local);
  return fmt::format("{:02}:{:02}:{:02}.{:06}", local.tm_hour, local.tm_min, local.tm_sec, now.tv_nsec / 1000);
}

LogLevel level_named(std::string_view name) {
  if (name == "off") return LogLevel::off;
  if (name == "info") return LogLevel::info;
  if (name == "debug") return LogLevel::debug;
  throw std::invalid_argument(fmt::format("expected off, info or debug, not '{}'", name));
}

}  // namespace

void set_log_levels(std::string_view list) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    const std::string_view area = item.substr(0, item.find(':'));
    const LogLevel level = area.size() == item.size() ? LogLevel::debug : level_named(item.substr(area.size() + 1));
    bool found = false;
    for (unsigned i = 0; i < kLogAreas; ++i) {
      if (area != kAreaNames[i] && area != "all") continue;
      log_levels[i] = level;
      found = true;
    }
    if (!found) throw std::invalid_argument(fmt::format("expected wire, plan, shim or all, not '{}'", area));
  }
}

void set_log_levels_from_environment() {
  if (const char* list = getenv("FSR_LOG")) set_log_levels(list);
}

void log_line(LogArea area, std::string_view text) {
  debug_log().add(fmt::format("{} {} {}\n", time_of_day(), kAreaNames[unsigned(area)], text));
}

void flush_log() { debug_log().flush(); }

std::string last_log_lines() { return debug_log().last(); }

}  // namespace fsr
