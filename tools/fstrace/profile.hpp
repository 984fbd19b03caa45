// SPDX-License-Identifier: Apache-2.0
// The numbers that describe a trace: mix, arrivals, latencies, sizes, concurrency, think times, working set, outcomes and the
// names at its end. One pass, one thread. Memory follows live files, open instances and concurrency, not the number of
// operations.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "mix/traits.hpp"
#include "stat_groups.hpp"
#include "trace/live_state.hpp"
#include "trace/reader.hpp"
#include "util/distinct_count.hpp"
#include "util/histogram.hpp"
#include "util/object_set.hpp"

namespace fsr::fstrace {

// Sums of one stretch of time; an operation counts in the stretch in which it started.
struct TimeBin {
  uint64_t operations = 0, failed = 0, read_bytes = 0, written_bytes = 0;
  double latency_ns = 0;  // sum
  double busy_ns = 0;     // sum over operations of the time in it that they were in flight
};

// Equal stretches of time from a start on, at most 480: made twice as long when more would be needed.
class Timeline {
 public:
  static constexpr size_t kMost = 480;
  void begin(int64_t start) { start_ = start; }
  TimeBin& at(int64_t time);
  void add_busy(int64_t from, int64_t to, double depth);
  int64_t start() const { return start_; }
  int64_t width() const { return width_; }  // ns: a millisecond times a power of two
  const std::vector<TimeBin>& bins() const { return bins_; }

 private:
  void cover(int64_t time);
  int64_t start_ = 0, width_ = 1'000'000;
  std::vector<TimeBin> bins_;
};

// The time at each number of operations in flight.
class Concurrency {
 public:
  explicit Concurrency(Timeline& timeline) : timeline_(timeline) {}
  void add(const Op& op);  // in order of start
  void finish();
  // ns at each number of operations in flight, from 0.
  const std::vector<double>& time_at() const { return time_at_; }
  size_t most() const { return time_at_.empty() ? 0 : time_at_.size() - 1; }

 private:
  void until(int64_t time);
  Timeline& timeline_;
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> ends_;
  std::vector<double> time_at_;
  int64_t now_ = INT64_MIN;
};

struct WorkingSet {
  uint64_t files = 0;                                     // objects of any type
  uint64_t read_bytes = 0, written_bytes = 0, bytes = 0;  // of different blocks of 4 KiB, about
};

class Profile {
 public:
  Profile() : groups_({Dimension::op}) {}
  // Reads the whole trace. Throws std::runtime_error if it has no operation.
  // `also` gets each batch once it was counted.
  void read(TraceReader& reader, const std::string& name, const std::function<void(const OpBatch&)>& also = {});
  // These do what read() does, in steps: begin(), next() until it returns null, end().
  void begin(TraceReader& reader, const std::string& name);
  const OpBatch* next(TraceReader& reader);  // counted, valid until the next call
  void end(const TraceReader& reader);

  std::string name;
  TraceHeader header;
  int64_t first = 0;  // start of the first operation
  Coverage covered;
  Measure total;
  std::array<Measure, kOpKinds> kinds;
  std::array<std::map<int32_t, uint64_t>, kOpKinds> outcomes;  // error: how many; -1: unfinished
  Histogram gaps;                                              // ns from start to start
  std::array<Histogram, kOpKinds> kind_gaps;                   // ns from start to start, by kind
  Histogram think;                                             // ns from a thread's end to its next start
  Timeline timeline;
  Concurrency concurrency{timeline};
  TraitCounts traits;
  LiveState tree;  // at the end

  double seconds() const { return double(covered.to - first) / 1e9; }  // since the first operation
  double rate() const { return covered.span() > 0 ? double(total.operations) * 1e9 / double(covered.span()) : 0; }
  // Mean over the time that the trace covers, as rate() and fstrace stat.
  double in_flight() const { return covered.span() > 0 ? total.latency.sum() / double(covered.span()) : 0; }
  WorkingSet working_set() const;
  int status = 0;  // 1: part of it could not be read, which stderr says

 private:
  // A change of the tree takes effect at its end, because operations that began before may have seen the earlier state.
  struct Change {
    int64_t end = 0;
    uint64_t number = 0;  // equal ends stay in order
    std::shared_ptr<OpBatch> batch;
    bool operator>(const Change& other) const { return end != other.end ? end > other.end : number > other.number; }
  };
  void add(const Op& op);
  void touch(const Op& op);
  void apply_until(int64_t time);
  void change_tree(const Op& op);

  OpBatch batch_;
  StatGroups groups_;
  std::array<int64_t, kOpKinds> kind_last_{};
  int64_t last_start_ = 0;
  std::unordered_map<ThreadId, int64_t> thread_end_;
  std::priority_queue<Change, std::vector<Change>, std::greater<>> changes_;
  std::vector<std::shared_ptr<OpBatch>> spare_;
  uint64_t changed_ = 0;
  ObjectSet touched_;
  DistinctCount read_, written_, either_;
};

// The largest difference of the shares that the two have up to any value: 0 the same, 1 nothing in common (Kolmogorov and
// Smirnov). By buckets, so within their width.
double distance(const Histogram& a, const Histogram& b);
double distance(const std::vector<double>& a, const std::vector<double>& b);  // weights by number
double distance(const Timeline& a, const Timeline& b);                        // arrivals since the first

}  // namespace fsr::fstrace
