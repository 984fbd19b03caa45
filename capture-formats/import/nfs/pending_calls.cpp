// SPDX-License-Identifier: Apache-2.0
#include "pending_calls.hpp"

#include <algorithm>
#include <utility>

namespace fsr::capture {

constexpr size_t kMostPending = 65536;
constexpr int64_t kLongestWait = 600'000'000'000;  // ns; clients send again after minutes at most
constexpr std::string_view kNoReply = "calls whose reply was not seen";

bool PendingCalls::find(const FlowKey& flow, uint32_t xid, Key* key) const {
  const auto it = clients_.find(flow);
  if (it == clients_.end()) return false;
  *key = Key(uint32_t(it->second)) << 32 | xid;
  return calls_.contains(*key);
}

void PendingCalls::remove(std::unordered_map<Key, PendingCall>::iterator it) {
  by_start_.erase({it->second.start, it->first});
  calls_.erase(it);
}

void PendingCalls::lose(Key key) {
  const auto it = calls_.find(key);
  if (it->second.form != PendingCall::Form::counted) sink_.note(ImportNotes::lost, kNoReply, 1);
  remove(it);
}

void PendingCalls::add(const FlowKey& flow, uint32_t xid, PendingCall call) {
  Key key;
  if (find(flow, xid, &key)) {
    const PendingCall& first = calls_.at(key);
    if (first.program == call.program && first.procedure == call.procedure && first.arguments == call.arguments)
      return sink_.note(ImportNotes::changed, "repeated calls (the first one is imported)", 1);
    lose(key);
  }
  call.client = clients_.try_emplace(flow, int32_t(clients_.size() + 1)).first->second;
  key = Key(uint32_t(call.client)) << 32 | xid;
  if (calls_.size() >= kMostPending) lose(by_start_.begin()->second);
  by_start_.emplace(call.start, key);
  calls_.emplace(key, std::move(call));
}

bool PendingCalls::contains(const FlowKey& flow, uint32_t xid) const {
  Key key;
  return find(flow, xid, &key);
}

bool PendingCalls::take(const FlowKey& flow, uint32_t xid, PendingCall* call) {
  Key key;
  if (!find(flow, xid, &key)) return false;
  const auto it = calls_.find(key);
  by_start_.erase({it->second.start, key});
  *call = std::move(it->second);
  calls_.erase(it);
  return true;
}

void PendingCalls::passed(int64_t time) {
  while (!by_start_.empty() && by_start_.begin()->first < time - kLongestWait) lose(by_start_.begin()->second);
  sink_.passed(std::min(by_start_.empty() ? INT64_MAX : by_start_.begin()->first, time));
}

void PendingCalls::finish() {
  while (!by_start_.empty()) lose(by_start_.begin()->second);
}

}  // namespace fsr::capture
