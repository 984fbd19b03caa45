// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/files/lookups.hpp"

namespace fsr::vdbench {

Task look_up_directory(SimContext& sim, Anchor& anchor, uint64_t directory) {
  if (directory == Structure::kAnchor || anchor.directory(directory).object != kNoObject) co_return 0;
  const uint64_t parent = anchor.structure().parent_of(directory);
  if (int error = co_await look_up_directory(sim, anchor, parent)) co_return error;
  const std::string name = anchor.structure().directory_name(directory);
  const ObjectId object = sim.new_object();
  const Op op{.kind = OpKind::lookup, .object = object, .parent = anchor.object_of_directory(parent), .name = name};
  if (int error = (co_await sim.perform(op)).error) co_return error;
  anchor.made_directory(directory, object);
  co_return 0;
}

Task look_up_file(SimContext& sim, Anchor& anchor, uint32_t file) {
  if (anchor.file(file).object != kNoObject) co_return 0;
  const uint64_t directory = anchor.structure().directory_of(file);
  if (int error = co_await look_up_directory(sim, anchor, directory)) co_return error;
  const std::string name = anchor.structure().file_name(file);
  const ObjectId object = sim.new_object();
  const Op op{.kind = OpKind::lookup, .object = object, .parent = anchor.object_of_directory(directory), .name = name};
  if (int error = (co_await sim.perform(op)).error) co_return error;
  anchor.made(file, object);
  co_return 0;
}

}  // namespace fsr::vdbench
