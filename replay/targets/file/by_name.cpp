// SPDX-License-Identifier: Apache-2.0
// Directory target: requests for files that are used by their names only, with little more than the system calls.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "no_umask.hpp"
#include "plain_calls.hpp"
#include "session.hpp"

namespace fsr {

bool FileSession::by_name(const Op& op, Outcome& outcome) { return shared_->tree.perform_by_name(op, reply_.latest, outcome); }

// Other ways of access, other users, O_DIRECT and set-id bits need what perform() does for them.
bool FileTree::perform_by_name(const Op& op, LatestDirectory& latest, Outcome& outcome) {
  constexpr uint32_t kPermissions = 0777;
  if (!plain_ || op.object || op.handle || !valid_component(op.name)) return false;
  const bool creates = op.kind == OpKind::create;
  if (creates && (!(op.open_flags & O_EXCL) || (op.open_flags & O_DIRECT) || (op.mode & ~kPermissions))) return false;
  if (!creates && op.kind != OpKind::lookup && op.kind != OpKind::unlink) return false;
  const int dir = objects_.descriptor_of(op.parent, latest);
  if (dir < 0) return false;
  Component name;
  name = op.name;
  outcome = {};
  if (op.kind == OpKind::lookup) {
    outcome.error = stat_name(dir, name.c_str(), outcome.attr);
  } else if (op.kind == OpKind::unlink) {
    outcome.error = unlinkat(dir, name.c_str(), 0) == 0 ? 0 : errno;
  } else {
    const NoUmask exact(op.mode);
    const int fd = open_here(dir, name.c_str(), kept_flags(op.open_flags) | O_CREAT, op.mode);
    outcome.error = fd < 0 ? errno : 0;
    if (fd >= 0) plain_close(fd);
  }
  return true;
}

}  // namespace fsr
