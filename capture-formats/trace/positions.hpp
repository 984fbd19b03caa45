// SPDX-License-Identifier: Apache-2.0
// Where the last read or write of each open file ended. Not thread-safe; memory follows the number of open files.
#pragma once

#include "op.hpp"
#include "trace/slab.hpp"

namespace fsr {

class Positions {
 public:
  enum class Access : uint8_t {
    first,       // nothing was read or written through this open file before
    sequential,  // begins where the one before ended
    elsewhere,
  };

  // `op`: a read or write that finished; the position moves to its end. Operations without an open file, as NFSv3 has them, are
  // told apart by their files.
  Access move(const Op& op) {
    const uint64_t key = op.handle ? op.handle : ~op.object;
    Position* p = find(key);
    Access place = Access::first;
    if (p)
      place = p->next == op.offset ? Access::sequential : Access::elsewhere;
    else
      (p = &positions_.add(key))->key = key;
    p->next = op.offset + (op.error ? 0 : op.result);
    return place;
  }
  void close(HandleId handle) {
    if (Position* p = find(handle)) positions_.erase(handle, *p);
  }

 private:
  struct Position {
    uint64_t key = 0, next = 0;
  };
  Position* find(uint64_t key) {
    return positions_.find(key, [&](const Position& at) { return at.key == key; });
  }
  Slab<Position> positions_;
};

}  // namespace fsr
