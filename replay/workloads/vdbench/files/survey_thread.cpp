// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>

#include "workloads/vdbench/files/tree_threads.hpp"

namespace fsr::vdbench {

SimTask SurveyThread::run(SimContext& sim) {
  Anchor& anchor = shared_.anchor;
  const Structure& structure = anchor.structure();
  for (unsigned depth = 1; depth <= structure.depth() + 1; ++depth) {
    const bool files = depth > structure.depth();
    const uint64_t from = files ? 0 : structure.level(depth), to = files ? structure.files() : structure.level(depth + 1);
    for (;;) {
      const uint64_t n = from + shared_.next.fetch_add(1);
      if (n >= to || sim.ended()) break;
      if (files && !shared_.files.has(n)) continue;
      const uint64_t parent = files ? structure.directory_of(n) : structure.parent_of(n);
      if (!anchor.exists(parent)) continue;
      const std::string name = files ? structure.file_name(n) : structure.directory_name(n);
      const Op op{.kind = OpKind::lookup, .object = sim.new_object(), .parent = anchor.object_of_directory(parent), .name = name};
      const Outcome& found = co_await sim.perform(op);
      if (found.error) {
        int none = 0;
        if (found.error != ENOENT) shared_.error.compare_exchange_strong(none, found.error);
        continue;
      }
      if (files) {
        anchor.made(uint32_t(n), op.object);
        uint64_t size = found.attr.size;
        anchor.file(uint32_t(n)).longer = size > structure.size_of(n);
        // A file may be longer than its structure says. Only the part within its structure has keys.
        if (const ValidatedStorage* v = anchor.validated())
          size = std::min(size, structure.size_of(n)) / v->keys.unit() * v->keys.unit();
        anchor.resized(uint32_t(n), size);
      } else {
        anchor.made_directory(n, op.object);
      }
    }
    if (!co_await sim.arrive(shared_.levels)) co_return;
    shared_.next = 0;
    if (!co_await sim.arrive(shared_.levels)) co_return;
  }
}

}  // namespace fsr::vdbench
