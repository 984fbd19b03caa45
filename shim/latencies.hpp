// SPDX-License-Identifier: Apache-2.0
// Latencies of requests by kind, for status replies during a capture.
//
// The writer's thread adds and publishes; any thread may ask for what was published.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>

#include "op.hpp"
#include "util/histogram.hpp"

namespace fsr::shim {

class Latencies {
 public:
  void add(const Op& op);     // adds an operation that was answered
  void publish(int64_t now);  // makes what was added so far visible; does work only twice a second. `now`: ns, as in tick()
  // "latency_read" and so on, with the numbers of LatencyNumbers in their order, for each kind that occurred.
  std::map<std::string, std::string> fields() const;

 private:
  using ByKind = std::array<Histogram, kOpKinds>;
  ByKind all_;
  int64_t published_at_ = 0;
  mutable std::mutex mutex_;
  ByKind published_;
};

// Latencies of one kind, in ns. docs/results.md explains the names.
struct LatencyNumbers {
  uint64_t count = 0;
  int64_t min = 0, mean = 0, p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0;
};
// Reads the latencies, by name of the kind, from the fields of a capture's reply.
std::map<std::string, LatencyNumbers> latencies_of(const std::map<std::string, std::string>& fields);

}  // namespace fsr::shim
