// SPDX-License-Identifier: Apache-2.0
// DFTracer's events as the lines that strace would have written, so that both share one understanding of system calls.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "import.hpp"

namespace fsr::dftracer {

struct Shape;  // of a call's events

struct Event {
  int64_t start = 0, end = 0;  // ns since the Unix epoch
  int32_t pid = 0, tid = 0;    // tid: unique in the log; the same as pid for a process's first thread
  std::string head, tail;      // "read(3</x>, "", 100" and ") = 100 <0.000012>"
};

// Turns one event of the log into a call. Keeps the names that the log gives to hashes, and the threads that it names.
class Calls {
 public:
  explicit Calls(ImportSink& sink) : sink_(sink) {}
  // Returns nothing if the event is no call on a file; then it is counted if anything is lost by that.
  std::optional<Event> call(const nlohmann::json& event);

 private:
  bool learn(const nlohmann::json& event);
  std::string path(const nlohmann::json& args, const std::string& name) const;
  bool is_blind(const Shape& shape, int32_t pid, const nlohmann::json& args, bool has_result);
  int32_t descriptor_of(const std::string& path);
  bool argument(std::string_view spec, const nlohmann::json& args, std::string* out);
  bool place(const nlohmann::json& event, Event* out);

  ImportSink& sink_;
  std::unordered_map<std::string, std::string> names_;    // by the hash of a path
  std::unordered_map<std::string, int32_t> threads_;      // by host, process and thread
  std::unordered_map<int32_t, int32_t> used_;             // numbers given to threads, and how often they were asked for
  std::unordered_map<std::string, int32_t> descriptors_;  // made up, by path
  std::set<std::pair<int32_t, std::string>> blind_;       // processes and directories whose calls may be those of a file
  std::set<std::pair<int32_t, int32_t>> open_;            // processes and their made-up descriptors
  int64_t unit_ = 1000;                                   // of times, ns
};

}  // namespace fsr::dftracer
