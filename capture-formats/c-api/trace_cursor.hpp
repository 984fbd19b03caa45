// SPDX-License-Identifier: Apache-2.0
// The selected operations of a trace, one after another, with the names of files at that time. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "path_numbers.hpp"
#include "string_table.hpp"
#include "trace/reader.hpp"

namespace fsr {

struct OpSelection {
  int64_t from = INT64_MIN, to = INT64_MAX;  // ns; starts from `from` on and before `to`
  uint64_t kinds = UINT64_MAX;               // a bit for each OpKind
  std::vector<int32_t> pids, tids;           // empty: all
  bool paths = true;                         // false: names are not followed

  bool includes(const ThreadInfo* who) const;
  bool includes(const Op& op) const;
};

class TraceCursor {
 public:
  explicit TraceCursor(const char* file);  // throws as TraceReader does

  // Goes to the first operation that is selected.
  void select(OpSelection selection);
  // Returns the next operation, valid until the next call; null at the end. Throws std::runtime_error as TraceReader::load_state.
  const Op* next();

  const TraceReader& reader() const { return reader_; }
  const OpSelection& selection() const { return selection_; }
  StringTable& strings() { return strings_; }
  const StringTable& strings() const { return strings_; }
  PathNumbers& names() { return names_; }
  uint32_t command_number(const ThreadInfo* who);  // in strings(); null: the empty string's

 private:
  void begin();
  bool may_hold_selected(const BlockContents& block) const;

  TraceReader reader_;
  OpSelection selection_;
  StringTable strings_;
  PathNumbers names_{strings_};
  OpBatch batch_;
  size_t at_ = 0;                            // in the batch
  const Op* two_names_ = nullptr;            // the operation returned last, if its new name holds from the next one on
  std::array<uint32_t, 256> commands_ = {};  // numbers of the commands of threads seen last, by the low bits of their ids
  bool begun_ = false, done_ = false;
  bool ordered_ = false;  // no operation starts before the one in front of it
};

}  // namespace fsr
