// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs4/states.hpp"

#include <errno.h>

#include <algorithm>

namespace fsr::nfs4 {

namespace {

// Returns the number of an owner in the lock table. Its highest bit distinguishes owners of flock from those of fcntl.
uint64_t key(const Owner& owner) { return owner.id ^ (owner.kind == Owner::flock ? 1ull << 63 : 0); }

bool is_gone(int error) { return connection_broke(error) || error == ETIMEDOUT || error == ECANCELED; }

bool refused_in_time(uint32_t status) { return status == kNoGrace || status == kReclaimBad || status == kReclaimConflict; }

// True: a user of the map has no security context now. Others must not wait for his state.
bool lacks_context(const Reply& reply, const Identity& who) {
  return who.principal && reply.status == kOk && rpc::lacks_context(reply.error);
}

// True: a recovery fails, because the server does not reply.
bool no_reply(const Reply& reply, const Identity& who) {
  return reply.error && reply.status == kOk && !lacks_context(reply, who);
}

}  // namespace

OpenState* States::open(HandleId id) {
  auto it = opens_.find(id);
  return it == opens_.end() ? nullptr : &it->second;
}

void States::closed(HandleId id) {
  auto it = opens_.find(id);
  if (it == opens_.end()) return;
  auto locks = locks_.find(it->second.object);
  if (locks != locks_.end()) {
    for (const Owner& owner : lock_owners(id)) {
      locks->second.held.clear(key(owner), 0, UINT64_MAX);
      locks->second.owners.erase(owner);
    }
    if (locks->second.owners.empty()) locks_.erase(locks);
  }
  opens_.erase(it);
  waits.released();
}

LockState* States::locks(ObjectId object, const Owner& owner) {
  auto it = locks_.find(object);
  if (it == locks_.end()) return nullptr;
  auto found = it->second.owners.find(owner);
  return found == it->second.owners.end() ? nullptr : &found->second;
}

void States::locked(ObjectId object, const Owner& owner, const LockState& lock, uint64_t start, uint64_t end, bool write) {
  ObjectLocks& locks = locks_[object];
  locks.owners.try_emplace(owner, lock);
  // If the reply to another owner's unlock is still to come, its lock is in the way here, but no longer at the server.
  locks.held.take(key(owner), start, end, write);
}

void States::unlocked(ObjectId object, const Owner& owner, uint64_t start, uint64_t end) {
  auto it = locks_.find(object);
  if (it != locks_.end()) it->second.held.clear(key(owner), start, end);
  waits.released();
}

std::vector<Owner> States::lock_owners(HandleId open) {
  std::vector<Owner> owners;
  const OpenState* state = this->open(open);
  auto it = state ? locks_.find(state->object) : locks_.end();
  if (it == locks_.end()) return owners;
  for (const auto& [owner, lock] : it->second.owners)
    if (lock.open == open) owners.push_back(owner);
  return owners;
}

// --- recovery ---

void States::forgotten() {
  for (auto& [id, state] : opens_) state.forgotten = !state.lost;
  forgotten_locks_.clear();
  for (auto& [object, locks] : locks_) {
    std::erase_if(locks.owners, [&held = locks.held](const auto& entry) { return !held.holds(key(entry.first)); });
    for (auto& [owner, lock] : locks.owners) {
      lock.known = false;
      for (const LockTable::Range& range : locks.held.held(key(owner), 0, UINT64_MAX))
        forgotten_locks_.push_back({object, owner, range});
    }
  }
}

std::vector<HandleId> States::forgotten_opens() const {
  std::vector<HandleId> ids;
  for (const auto& [id, state] : opens_)
    if (state.forgotten) ids.push_back(id);
  return ids;
}

bool States::is_forgotten(HandleId id) {
  const OpenState* state = open(id);
  return state && state->forgotten;
}

Task States::open_again(HandleId id, bool reclaim) {
  if (!is_forgotten(id)) co_return 0;
  const OpenState known = *open(id);
  Rpc& rpc = client_.request(nullptr, known.who);
  rpc.compound.putfh(known.handle);
  reclaim ? rpc.compound.open_again(known.access, {id}) : rpc.compound.open_handle(known.access, {id});
  const Reply& reply = co_await client_.send(rpc);
  if (reclaim && (refused_in_time(reply.status) || lacks_context(reply, known.who))) co_return 0;
  if (no_reply(reply, known.who)) co_return reply.error;
  OpenState* state = open(id);
  if (!state) co_return 0;
  state->forgotten = false;
  if (reply.error) {
    state->lost = true;
    ++client_.counters.lost_opens;
  } else {
    state->stateid = reply.stateid;
    ++(reclaim ? client_.counters.reclaimed : client_.counters.reopened);
  }
  co_return 0;
}

// Requests a lock again. *refused: it can't be reclaimed, but may be granted anew.
Task States::lock_again(Held held, bool reclaim, bool* refused) {
  const auto& [object, owner, range] = held;
  LockState* lock = locks(object, owner);
  const OpenState* through = lock ? open(lock->open) : nullptr;
  if (!through) co_return 0;
  const LockType type = range.exclusive ? LockType::write : LockType::read;
  const uint64_t length = lock_length(range.start, range.end);
  const Identity who = lock->who;
  Rpc& rpc = client_.request(nullptr, who);
  rpc.compound.putfh(through->handle);
  lock->known ? rpc.compound.lock(type, reclaim, range.start, length, lock->stateid)
              : rpc.compound.first_lock(type, reclaim, range.start, length, through->stateid, owner.by(lock->open));
  const Reply& reply = co_await client_.send(rpc);
  *refused = reclaim && (refused_in_time(reply.status) || lacks_context(reply, who));
  if (*refused) co_return 0;
  if (no_reply(reply, who)) co_return reply.error;
  if (reply.error) {
    unlocked(object, owner, range.start, range.end);
    ++client_.counters.lost_locks;
    co_return 0;
  }
  if ((lock = locks(object, owner))) {
    lock->stateid = reply.stateid;
    lock->known = true;
  }
  ++(reclaim ? client_.counters.reclaimed : client_.counters.relocked);
  co_return 0;
}

Task States::reclaim() {
  for (HandleId id : forgotten_opens())
    if (int error = co_await open_again(id, true)) co_return error;
  std::vector<Held> left;
  for (const Held& held : forgotten_locks_) {
    const LockState* lock = locks(held.object, held.owner);
    bool refused = lock && is_forgotten(lock->open);  // as the open file was refused
    if (!refused)
      if (int error = co_await lock_again(held, true, &refused)) co_return error;
    if (refused) left.push_back(held);
  }
  forgotten_locks_.swap(left);
  co_return 0;
}

Task States::regain() {
  for (HandleId id : forgotten_opens())
    if (int error = co_await open_again(id, false)) co_return error;
  bool refused;
  for (const Held& held : forgotten_locks_)
    if (int error = co_await lock_again(held, false, &refused)) co_return error;
  forgotten_locks_.clear();
  co_return 0;
}

// --- Release of all state at the end ---

Task States::close(OpCall* call, const OpenState& state) {
  if (state.lost) co_return 0;
  Rpc& rpc = client_.request(call, state.who);
  rpc.compound.putfh(state.handle).close(state.stateid);
  const Reply& reply = co_await client_.send(rpc);
  co_return reply.error;
}

Task States::remove(const nfs::HiddenName& name) {
  Rpc& rpc = client_.request(nullptr, name.who);
  rpc.compound.putfh(name.dir).remove(name.name);
  const Reply& reply = co_await client_.send(rpc);
  if (reply.error) ++files_.counters.hidden_left;
  co_return reply.error;
}

// A server may refuse to close a file on which locks are held, and keep the locks until the lease ends.
Task States::unlock_all() {
  std::vector<std::pair<FileHandle, LockState>> held;
  for (const auto& [object, locks] : locks_)
    for (const auto& [owner, lock] : locks.owners)
      if (const OpenState* state = open(lock.open); state && !state->lost && lock.known) held.emplace_back(state->handle, lock);
  for (const auto& [file, lock] : held) {
    Rpc& rpc = client_.request(nullptr, lock.who);
    rpc.compound.putfh(file).locku(0, UINT64_MAX, lock.stateid);
    const Reply& reply = co_await client_.send(rpc);
    if (is_gone(reply.error)) co_return reply.error;
  }
  co_return 0;
}

Task States::close_all() {
  if (int error = co_await unlock_all(); is_gone(error)) co_return error;
  std::unordered_map<HandleId, OpenState> opens;
  opens.swap(opens_);
  for (const auto& [id, state] : opens)
    if (int error = co_await close(nullptr, state); is_gone(error)) co_return error;
  std::vector<nfs::HiddenName> left;
  files_.objects.for_each([&](uint64_t, nfs::Object& o) {
    left.insert(left.end(), o.hidden.begin(), o.hidden.end());
    o.hidden.clear();
  });
  for (const nfs::HiddenName& name : left)
    if (int error = co_await remove(name); is_gone(error)) co_return error;
  co_return 0;
}

}  // namespace fsr::nfs4
