// SPDX-License-Identifier: Apache-2.0
// Every operation N times, each clone with its own threads, objects, handles and tree: directory "clone-<n>" (from 0) of the
// target's root stands for the captured directory. The image makes these directories (ImageOptions::clones).
//
// Ids of clone n: id * N + n, so they stay dense and apart; the target's own root is kRootObject, which no clone's id equals.
#pragma once

#include <string>

#include "op_source.hpp"
#include "plan/image.hpp"

namespace fsr {

class CloneSource final : public OpSource {
 public:
  CloneSource(OpSource& source, CloneNumbers clones);  // `source` must outlive it
  bool next(OpBatch& batch) override;

  static ObjectId object_of(ObjectId id, unsigned clone, unsigned clones);

 private:
  OpSource& source_;
  const CloneNumbers clones_;
  OpBatch input_;
};

std::string clone_directory(unsigned clone);

}  // namespace fsr
