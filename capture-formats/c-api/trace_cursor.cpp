// SPDX-License-Identifier: Apache-2.0
#include "trace_cursor.hpp"

#include <algorithm>

#include "trace/live_state.hpp"
#include "trace/series.hpp"

namespace fsr {

constexpr uint64_t bit(OpKind kind) { return uint64_t(1) << unsigned(kind); }

// Operations that show a name: visit_names().
constexpr uint64_t kNaming = bit(OpKind::lookup) | bit(OpKind::create) | bit(OpKind::mkdir) | bit(OpKind::mknod) |
                             bit(OpKind::symlink) | bit(OpKind::link) | bit(OpKind::rename);

static bool includes_number(const std::vector<int32_t>& numbers, int32_t number) {
  return numbers.empty() || std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

bool OpSelection::includes(const ThreadInfo* who) const {
  if (!who) return pids.empty() && tids.empty();
  return includes_number(pids, who->pid) && includes_number(tids, who->tid);
}

bool OpSelection::includes(const Op& op) const {
  return op.start >= from && op.start < to && (kinds & bit(op.kind)) && includes(op.who);
}

TraceCursor::TraceCursor(const char* file) : reader_(series_files(file), names_series(file)) {
  reader_.leave_out_blocks([this](const BlockContents& block) { return may_hold_selected(block); });
  const TraceClosing* closing = reader_.closing();
  ordered_ = closing && closing->out_of_order == 0;
}

bool TraceCursor::may_hold_selected(const BlockContents& block) const {
  if (selection_.paths && (block.kinds & kNaming)) return true;
  if (!(block.kinds & selection_.kinds)) return false;
  if (selection_.pids.empty() && selection_.tids.empty()) return true;
  return std::any_of(block.threads.begin(), block.threads.end(),
                     [this](const ThreadInfo& who) { return selection_.includes(&who); });
}

void TraceCursor::select(OpSelection selection) {
  selection_ = std::move(selection);
  begun_ = false;
}

void TraceCursor::begin() {
  batch_.clear();
  at_ = 0;
  two_names_ = nullptr;
  done_ = false;
  names_.forget();
  // A late operation may stand behind others that started after it.
  const int64_t from = ordered_ ? selection_.from : INT64_MIN;
  if (selection_.paths) {
    // Names that were known before the first operation: the trace may be part of another one.
    LiveState state;
    reader_.load_state(from, state);
    state.each_name(
        [this](ObjectId parent, std::string_view name, ObjectId object, uint32_t) { names_.learn(parent, name, object); });
  } else {
    reader_.seek_time(from);
  }
  begun_ = true;
}

uint32_t TraceCursor::command_number(const ThreadInfo* who) {
  if (!who) return StringTable::kEmpty;
  uint32_t& number = commands_[who->id % commands_.size()];
  // A thread's command may change, and another thread may have the place.
  if (strings_[number] != who->command) number = strings_.number(who->command);
  return number;
}

const Op* TraceCursor::next() {
  if (!begun_) begin();
  while (!done_) {
    if (two_names_) names_.apply(*two_names_);
    two_names_ = nullptr;
    if (at_ == batch_.ops.size()) {
      at_ = 0;
      done_ = !reader_.next(batch_);
      continue;
    }
    const Op& op = batch_.ops[at_++];
    if (ordered_ && op.start >= selection_.to) {
      done_ = true;
      break;
    }
    if (selection_.paths && has_two_names(op))
      two_names_ = &op;
    else if (selection_.paths)
      names_.apply(op);
    if (selection_.includes(op)) return &op;
  }
  return nullptr;
}

}  // namespace fsr
