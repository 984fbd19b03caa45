// SPDX-License-Identifier: Apache-2.0
#include "nfs4_states.hpp"

namespace fsr::capture {

void Nfs4States::opened(const nfs4::Stateid& state, ObjectId object, HandleId handle) {
  State& s = states_[state.other];
  s.object = object;
  s.open = true;
  s.handles.push_back(handle);
}

void Nfs4States::delegated(const nfs4::Stateid& delegation, ObjectId object, HandleId handle) {
  states_[delegation.other] = {.object = object, .handles = {handle}};
}

void Nfs4States::locked(const nfs4::Stateid& lock, const nfs4::Stateid& open, uint64_t owner) {
  const auto it = states_.find(open.other);
  if (it == states_.end()) return;
  it->second.locks.push_back(lock.other);
  const State& opened = it->second;
  states_[lock.other] = {.object = opened.object, .handles = opened.handles, .owner = owner};
}

std::vector<HandleId> Nfs4States::closed(const nfs4::Stateid& state) {
  const auto it = states_.find(state.other);
  if (it == states_.end() || !it->second.open) return {};
  const State s = std::move(it->second);
  states_.erase(it);
  for (const Id& lock : s.locks) states_.erase(lock);
  return s.handles;
}

HandleId Nfs4States::handle(const nfs4::Stateid& state) const {
  const auto it = states_.find(state.other);
  return it == states_.end() || it->second.handles.empty() ? 0 : it->second.handles.back();
}

uint64_t Nfs4States::lock_owner(const nfs4::Stateid& state) const {
  const auto it = states_.find(state.other);
  return it == states_.end() ? 0 : it->second.owner;
}

uint64_t Nfs4States::owner(int32_t client, std::string_view name) {
  return owners_.try_emplace({client, std::string(name)}, owners_.size() + 1).first->second;
}

}  // namespace fsr::capture
