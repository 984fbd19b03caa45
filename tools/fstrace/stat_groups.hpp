// SPDX-License-Identifier: Apache-2.0
// Operations counted in groups: by kind, process, user, file and so on. One thread. Memory grows with the number of groups,
// open instances and threads, not with the number of operations.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "op_text.hpp"
#include "trace/positions.hpp"
#include "util/histogram.hpp"

namespace fsr::fstrace {

// The numbers of a group. Bytes are those that were moved, sizes those that were requested.
struct Measure {
  uint64_t operations = 0, failed = 0, unfinished = 0;
  uint64_t reads = 0, writes = 0, read_bytes = 0, written_bytes = 0;
  // Reads and writes without copies, those that were not the first of their open instance, and those that began where the one
  // before ended.
  uint64_t transfers = 0, successive = 0, sequential = 0;
  Histogram latency;    // ns, of what finished
  Histogram size;       // bytes, of reads and writes
  int64_t carried = 0;  // ns: what was spent on operations that have not finished, less what add_end() was told
  double busy() const { return std::max(0.0, latency.sum() + double(carried)); }  // ns
  void merge(const Measure& other);
};

// The stretch of time that figures of a trace are about: what its index says, and all that its operations add.
struct Coverage {
  int64_t from = 0, to = 0;  // ns
  void add(const Op& op) { from = std::min(from, op.start), to = std::max(to, op.end()); }
  int64_t span() const { return to - from; }
};

enum class Dimension : uint8_t { op, process, command, thread, user, client, outcome, file };
Dimension dimension_from_name(const std::string& name);  // throws std::runtime_error, one line
const char* dimension_name(Dimension d);

// One label of a group: "pid" 4711, "op" "read".
struct Label {
  const char* name;
  std::string text;
  bool number = false;
};
// The names of a dimension's labels, in order.
std::vector<const char*> label_names(Dimension d);

class StatGroups {
 public:
  static constexpr size_t kMaxDimensions = 8;
  using Key = std::array<uint32_t, kMaxDimensions>;
  struct Group {
    Key key{};
    Measure measure;
  };

  explicit StatGroups(std::vector<Dimension> by) : by_(std::move(by)) {}

  void begin_batch() { ++batch_; }  // ThreadInfo pointers of the earlier batch are invalid
  void add(const Op& op);
  // Counts `time` ns of an operation that was added unfinished and has not ended yet.
  void add_open(const Op& op, int64_t time) { group_of(op).measure.carried += time; }
  // Counts the end of such an operation. `counted`: ns of it that earlier tables have by add_open().
  void add_end(const Op& op, int64_t counted);
  const std::vector<Group>& groups() const { return groups_; }
  std::vector<Group> take();  // removes and returns them
  void clear();               // removes the groups; threads and open instances stay known
  // `paths`: for Dimension::file.
  std::vector<Label> labels(const Group& group, const Paths& paths) const;

 private:
  struct Process {
    uint32_t client = 0;
    int32_t pid = 0;
    std::string command;
  };
  struct Thread {
    ThreadId id = 0;
    uint64_t batch = 0;  // in which it was looked up last
    const ThreadInfo* who = nullptr;
    uint32_t process = 0, command = 0;
    int32_t tid = 0;
    uint32_t client = 0;
  };

  Group& group_of(const Op& op);
  uint32_t thread_of(const Op& op);
  uint32_t file_of(ObjectId object);
  void count_outcome(Measure& m, const Op& op);
  void count_data(Measure& m, const Op& op);
  std::vector<Label> label(Dimension d, uint32_t id, const Paths& paths) const;

  const std::vector<Dimension> by_;
  std::vector<Group> groups_;
  SlotTable group_table_;
  uint64_t batch_ = 0;
  std::vector<Thread> threads_;
  SlotTable thread_table_;
  std::vector<Process> processes_;
  std::map<std::pair<uint32_t, int32_t>, uint32_t> process_ids_;
  std::vector<std::string> commands_;
  std::map<std::string, uint32_t, std::less<>> command_ids_;
  std::vector<ObjectId> files_;
  SlotTable file_table_;
  Positions positions_;
};

}  // namespace fsr::fstrace
