// SPDX-License-Identifier: Apache-2.0
#include "capabilities.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "credentials.hpp"
#include "proc_read.hpp"
#include "ring_workers.hpp"
#include "thread_cache.hpp"

namespace fsr::shim {

namespace {

using Namespace = std::shared_ptr<const UserNamespace>;

Namespace namespace_of(pid_t tid) {
  static const std::string own_uids = read_proc("self", ProcFile::uid_map), own_gids = read_proc("self", ProcFile::gid_map);
  const std::string process = std::to_string(tid);
  const std::string uids = read_proc(process, ProcFile::uid_map), gids = read_proc(process, ProcFile::gid_map);
  // A namespace below that maps every id gives the same answers as the own one.
  if (uids == own_uids && gids == own_gids) return nullptr;
  return std::make_shared<UserNamespace>(UserNamespace{IdRanges::parse(uids), IdRanges::parse(gids)});
}

constexpr int64_t kRootTrust = 4'000'000;  // ns for which root keeps what it had before it entered a namespace of its own

// Only for user 0. The namespace of other users is read each time, because they get capabilities by entering one.
Namespace namespace_of_root(pid_t tid) {
  thread_local ThreadCache<Namespace> known(kRootTrust);
  const Namespace* space = known.find(tid);
  return space ? *space : known.keep(tid, namespace_of(tid));
}

}  // namespace

uint64_t effective_capabilities(pid_t tid) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, tid};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  if (tid <= 0 || syscall(SYS_capget, &header, sets) != 0) return 0;
  return uint64_t(sets[1].effective) << 32 | sets[0].effective;
}

IdRanges IdRanges::parse(std::string_view map) {
  IdRanges ids;
  const std::string text(map);
  const char* p = text.c_str();
  for (;;) {
    char* end;
    const unsigned long inside = strtoul(p, &end, 10);
    if (end == p) return ids;
    const unsigned long first = strtoul(end, &end, 10);
    const unsigned long count = strtoul(end, &end, 10);
    ids.ranges_.push_back({uint32_t(inside), uint32_t(first), uint32_t(count)});
    p = end;
  }
}

bool IdRanges::contains(uint32_t id) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [id](const Range& r) { return id >= r.first && id - r.first < r.count; });
}

bool IdRanges::is_root(uint32_t id) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [id](const Range& r) { return r.inside == 0 && r.first == id; });
}

uint64_t Capabilities::over(std::initializer_list<CapabilityTarget> files) const {
  if (!below || effective == 0) return effective;
  if (files.size() == 0) return 0;
  constexpr uint64_t kOfSystem =
      capability(CAP_LINUX_IMMUTABLE) | capability(CAP_MKNOD) | capability(CAP_SYS_ADMIN) | capability(CAP_SYS_RESOURCE);
  // CAP_FOWNER has rules of its own. Acting as an owner needs an id for the owner in the namespace. Removing another user's name
  // from a sticky directory needs one for the group, too. Making a name in a directory needs neither.
  constexpr uint64_t kOwner = capability(CAP_FOWNER);
  uint64_t counting = effective & ~kOfSystem;
  for (const CapabilityTarget& file : files) {
    struct stat s;
    if (fstat(file.fd, &s) != 0) return 0;
    if (!below->contains(s.st_uid, s.st_gid)) counting &= kOwner;
    if (file.role == CapabilityTarget::kMovedDirectory && !below->contains(file.uid, file.gid)) counting &= kOwner;
    const bool owns = file.role == CapabilityTarget::kFile      ? below->uids.contains(s.st_uid)
                      : file.role == CapabilityTarget::kNewName ? true
                                                                : !(s.st_mode & S_ISVTX) || below->contains(file.uid, file.gid);
    if (!owns) counting &= ~kOwner;
  }
  return counting;
}

Capabilities capabilities_of(const Caller& caller) {
  Capabilities found;
  const pid_t tid = requester_of(caller.tid);
  const uint64_t effective = effective_capabilities(tid) & kFileCapabilities;
  if (caller.uid == 0 && (effective & kRootCapabilities) == kRootCapabilities) {
    found.effective = effective;
    found.below = namespace_of_root(tid);
    return found;
  }
  if (caller.uid != 0 && effective == 0) return found;
  thread_local ThreadStatus status;
  if (tid <= 0 || !read_status(tid, status)) return found;
  const bool its_own = status.uid[3] == caller.uid && status.gid[3] == caller.gid;
  if (!its_own && caller.uid != 0) return found;
  found.effective = (its_own ? effective : status.bounding) & kFileCapabilities;
  if (found.effective != 0) found.below = namespace_of(tid);
  return found;
}

}  // namespace fsr::shim
