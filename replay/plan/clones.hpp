// SPDX-License-Identifier: Apache-2.0
// Source that returns every operation once for each clone. A clone has its own threads, objects, open instances and tree. Its
// directory "clone-<n>" (n from 0) in the target's root stands for the captured directory. The image makes these directories
// (ImageOptions::clones).
//
// With N clones, an id of clone n is id * N + n. So ids stay dense and differ between clones. The target's own root is
// kRootObject, which is no id of a clone.
#pragma once

#include <span>
#include <string>

#include "op_source.hpp"
#include "plan/image.hpp"

namespace fsr {

class CloneSource final : public OpSource {
 public:
  CloneSource(OpSource& source, CloneNumbers clones);  // `source` must outlive this object
  bool next(OpBatch& batch) override;

  static ObjectId object_of(ObjectId id, unsigned clone, unsigned clones);

 private:
  OpSource& source_;
  const CloneNumbers clones_;
  OpBatch input_;
};

// Returns the operation of a clone, with the caller (Op::who) of the original.
Op clone_of(const Op& op, unsigned clone, unsigned clones);
// Adds each operation to `batch`, once for each clone of this process. Names and content stay where they are; `batch.arena` gets
// the rest. Throws std::runtime_error if threads run out of numbers: from 2^32 / clones on.
void add_clones(std::span<const Op> ops, const CloneNumbers& clones, OpBatch& batch);

std::string clone_directory(unsigned clone);

}  // namespace fsr
