// SPDX-License-Identifier: Apache-2.0
// One set of identities for several traces. Objects, open instances and threads of each trace get numbers of their own. Objects
// that clients know under the same name get one number. Memory follows the number of objects that the traces tell of. One thread.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "op_source.hpp"
#include "trace/live_state.hpp"

namespace fsr::fstrace {

// The clients of one of the traces, in the merged one. A trace that was merged itself has several.
struct ClientRange {
  uint32_t first = 1, count = 1;
};

class MergedIds {
 public:
  // A range for each trace. `apart`: each trace's tree is a directory client-N of the merged one, and nothing is shared; N is its
  // first client.
  MergedIds(const std::vector<ClientRange>& clients, bool apart);

  // Adds the state of client `i` (from 0) before its first operation to the merged state. Call before the first map().
  void add_state(size_t i, const LiveState& state);
  // Returns the operation with merged numbers. Its `who` points into `arena`, other pointers lead where those of `op` lead.
  Op map(size_t i, const Op& op, Arena& arena);
  const LiveState& state() const { return state_; }  // as of the operations mapped so far

 private:
  struct Client {
    ClientRange range;
    std::unordered_map<uint32_t, uint32_t> others;  // clients that the header did not tell of
    std::unordered_map<ObjectId, ObjectId> objects;
    std::unordered_set<ObjectId> taken;  // values of `objects`
    std::unordered_map<HandleId, HandleId> handles;
    std::unordered_map<ThreadId, ThreadId> threads;
  };
  uint32_t number(Client& c, uint32_t client);
  ObjectId object(Client& c, ObjectId id);
  // The object that a name leads to for this client: the one that others know there already, if it can be the same.
  ObjectId named(Client& c, ObjectId id, ObjectId parent, std::string_view name);
  HandleId handle(Client& c, HandleId id);
  ThreadId thread(Client& c, ThreadId id);
  uint64_t owner(size_t i, uint64_t owner) const { return owner ? owner * clients_.size() + i : 0; }

  std::vector<Client> clients_;
  LiveState state_;
  uint32_t next_client_ = 1;
  ObjectId next_object_ = kRootObject + 1;
  HandleId next_handle_ = 1;
  ThreadId next_thread_ = 1;
};

}  // namespace fsr::fstrace
