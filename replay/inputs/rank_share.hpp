// SPDX-License-Identifier: Apache-2.0
// The part of an input's load that one of several ranks runs. One thread at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "op.hpp"

namespace fsr {

class RankShare {
 public:
  virtual ~RankShare() = default;
  // Call this before all members of the input. Throws std::runtime_error, one line, if the input can't be split.
  virtual void take_share(unsigned rank, unsigned ranks, bool force) = 0;
  // True if all ranks work in one tree, which the root makes.
  virtual bool shares_tree() const { return false; }
  // Returns a function that is true for a handle, open at the start, that this rank opens. Empty: this rank opens all.
  virtual std::function<bool(HandleId)> opens() const { return {}; }
  // True if an id of an object or handle means another one on each rank. The root directory has the same id everywhere.
  virtual bool ids_differ() const { return false; }
  // After a round, the root calls add_part() with the part() of each other rank. `same_wire`: another rank has counted the
  // requests of that rank, too.
  virtual std::string part() const = 0;
  virtual void add_part(std::string_view saved, bool same_wire) = 0;
};

}  // namespace fsr
