// SPDX-License-Identifier: Apache-2.0
// The state that the server holds for this client: open files and locks, by their state ids. Restores it when the server has
// forgotten it. Protected by the connection's mutex.
//
// Each open instance has an open owner of its own. A kernel client has one owner for each user, and merges a user's opens of a
// file into one state. With separate owners, the OPENs and CLOSEs are as many as recorded, and none waits for another.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/lock_table.hpp"
#include "targets/nfs4/client.hpp"
#include "targets/retry_waits.hpp"

namespace fsr::nfs4 {

struct OpenState {
  ObjectId object = kNoObject;
  FileHandle handle;
  Stateid stateid;
  uint32_t access = 0;     // ShareAccess
  Identity who;            // user as whom the file was opened and is used
  bool forgotten = false;  // forgotten by the server, until a recovery restores it
  bool lost = false;       // the server refused to restore it
};

struct LockState {
  HandleId open = 0;  // the handle through which the owner's first lock was set
  Stateid stateid;
  Identity who;       // user who locked first, and as whom the owner's locks are restored
  bool known = true;  // to the server
};

class States final : public Recovery {
 public:
  // `waits`: of the calls of all clients, because a lock that one gives up may be another's.
  States(Nfs4Client& client, nfs::NfsState& files, RetryWaits& lock_waits) : waits(lock_waits), client_(client), files_(files) {}

  OpenState* open(HandleId id);
  void opened(HandleId id, const OpenState& state) { opens_[id] = state; }
  void closed(HandleId id);  // also removes the locks set through it

  // Returns the state of the owner's locks of an object. Null: it has had none.
  LockState* locks(ObjectId object, const Owner& owner);
  // `lock`: used if it is the owner's first of the object.
  void locked(ObjectId object, const Owner& owner, const LockState& lock, uint64_t start, uint64_t end, bool write);
  void unlocked(ObjectId object, const Owner& owner, uint64_t start, uint64_t end);
  std::vector<Owner> lock_owners(HandleId open);  // owners whose first locks were set through it
  RetryWaits& waits;

  void forgotten() override;
  Task reclaim() override;
  Task regain() override;
  Task close_all() override;
  bool has_opens() const override { return !opens_.empty(); }
  Task close(OpCall* call, const OpenState& state);

 private:
  struct OwnerLess {
    bool operator()(const Owner& a, const Owner& b) const { return a.kind != b.kind ? a.kind < b.kind : a.id < b.id; }
  };
  struct ObjectLocks {
    std::map<Owner, LockState, OwnerLess> owners;
    LockTable held;  // the locks to restore
  };
  struct Held {
    ObjectId object;
    Owner owner;
    LockTable::Range range;
  };
  std::vector<HandleId> forgotten_opens() const;
  bool is_forgotten(HandleId id);
  Task open_again(HandleId id, bool reclaim);
  Task lock_again(Held held, bool reclaim, bool* refused);
  Task remove(const nfs::HiddenName& name);
  Task unlock_all();

  Nfs4Client& client_;
  nfs::NfsState& files_;
  std::unordered_map<HandleId, OpenState> opens_;
  std::unordered_map<ObjectId, ObjectLocks> locks_;
  std::vector<Held> forgotten_locks_;
};

// Returns the length of a lock or unlock from `start` to `end`, inclusive.
inline uint64_t lock_length(uint64_t start, uint64_t end) { return end == UINT64_MAX ? UINT64_MAX : end - start + 1; }

}  // namespace fsr::nfs4
