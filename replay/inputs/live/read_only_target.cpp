// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/read_only_target.hpp"

#include <fcntl.h>

#include "trace/model.hpp"

namespace fsr {

// Locks count as changes, because users of the target may wait for them.
static bool changes(const Op& op) {
  switch (op.kind) {
    case OpKind::setattr:
    case OpKind::write:
    case OpKind::copy_file_range:
    case OpKind::fallocate:
    case OpKind::setxattr:
    case OpKind::removexattr:
    case OpKind::setlk:
    case OpKind::flock:
    case OpKind::ioctl:
    case OpKind::tmpfile:
      return true;
    case OpKind::open:
      return (op.open_flags & (O_TRUNC | O_CREAT)) != 0;
    default:
      return changes_names(op.kind);
  }
}

Fidelity ReadOnlyTarget::fidelity(const Op& op) const { return changes(op) ? Fidelity::impossible : below_.fidelity(op); }

}  // namespace fsr
