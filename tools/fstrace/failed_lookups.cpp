// SPDX-License-Identifier: Apache-2.0
#include "failed_lookups.hpp"

#include <algorithm>
#include <cerrno>

namespace fsr::fstrace {

void FailedLookups::add(const Op& op) {
  if (op.kind != OpKind::lookup || op.has(kOpUnfinished)) return;
  Directory& d = directories_[op.parent];
  d.object = op.parent;
  ++d.lookups;
  if (op.error != ENOENT) return;
  ++failed_;
  ++d.failed;
  d.time += op.duration;
  d.example = op.name;
}

std::vector<FailedLookups::Directory> FailedLookups::most(size_t limit) const {
  std::vector<Directory> found;
  for (const auto& [object, directory] : directories_)
    if (directory.failed) found.push_back(directory);
  auto more = [](const Directory& a, const Directory& b) {
    return a.failed != b.failed ? a.failed > b.failed : a.object < b.object;
  };
  const size_t n = std::min(limit, found.size());
  std::partial_sort(found.begin(), found.begin() + ptrdiff_t(n), found.end(), more);
  found.resize(n);
  return found;
}

}  // namespace fsr::fstrace
