// SPDX-License-Identifier: Apache-2.0
// Sums the operations of each command by their purpose, and counts them over time. One thread. Memory follows the number of
// commands: 1 KiB each.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "op.hpp"

namespace fsr::fstrace {

// The purpose of an operation.
enum class Purpose : uint8_t { sync, look, change, data };
constexpr size_t kPurposes = 4;
constexpr const char* kPurposeNames[kPurposes] = {"sync", "look", "open, create, remove, change", "read, write"};
Purpose purpose_of(OpKind kind);

class CommandActivity {
 public:
  struct Command {
    std::string name;  // empty: not known
    uint64_t operations = 0, failed = 0;
    std::array<double, kPurposes> time{};  // ns, of what has ended
    std::vector<uint64_t> started;         // operations that began in each stretch of time
    double all_time() const;
  };

  void begin_batch() { known_.clear(); }  // ThreadInfo pointers of the earlier batch are invalid
  void add(const Op& op);                 // in order of start
  // All commands, in the order of their first operations.
  const std::vector<Command>& commands() const { return commands_; }
  double stretch() const { return double(width_) / 1e9; }  // length in seconds

 private:
  size_t number_of(const ThreadInfo* who);

  int64_t start_ = -1, width_ = 1'000'000;  // ns
  std::vector<Command> commands_;
  std::map<std::string, size_t, std::less<>> numbers_;
  std::unordered_map<const ThreadInfo*, size_t> known_;
};

}  // namespace fsr::fstrace
