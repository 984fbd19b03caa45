// SPDX-License-Identifier: Apache-2.0
#include "cli/checks.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "base/clock.hpp"
#include "engine/prepare.hpp"
#include "engine/tree_remover.hpp"
#include "targets/blocking_session.hpp"
#include "util/units.hpp"

namespace fsr {

static bool everything(std::string_view) { return true; }

bool check_place(Target& target, Clock& clock, const std::string& trace_id, bool reuse, bool cleanup, bool force) {
  if (cleanup) refuse_mounts(target, everything);
  if (target.empty()) return false;
  switch (find_marker(target, clock, trace_id)) {
    case Marker::same:
      if (!reuse && !force)
        throw std::runtime_error(
            target.name() +
            ": holds an earlier replay of this trace; give --reuse to continue with these files, or name an empty target");
      return false;
    case Marker::other:
      if (force) return false;
      throw std::runtime_error(target.name() + ": holds the replay of another trace; name an empty target, or give --force");
    case Marker::absent:
      if (force) return true;
      throw std::runtime_error(target.name() + ": not empty; name an empty target, or give --force");
  }
  return false;
}

void check_writable(Target& target, Clock& clock, unsigned rank) {
  BlockingSession session(target, clock);
  const std::string name = fmt::format("{}.probe{}", kMarkerName, rank);
  const Op make{.kind = OpKind::mkdir, .mode = 0700, .object = kProbeObject, .parent = kRootObject, .name = name};
  if (target.fidelity(make) == Fidelity::impossible) return;  // the target has no names
  int error = session.perform(make).error;
  if (!error) session.perform({.kind = OpKind::rmdir, .object = kProbeObject, .parent = kRootObject, .name = name});
  if (error && error != EEXIST)
    throw std::runtime_error(target.name() + ": no directory can be created there: " + strerror(error));
}

void check_space(Target& target, const ImageSummary& image, bool force) {
  Space space = target.space();
  if (!force && space.total && image.bytes > space.free)
    throw std::runtime_error(fmt::format("{}: the initial image takes {}, but only {} are free; free space, or give --force",
                                         target.name(), format_size(image.bytes), format_size(space.free)));
}

void remove_tree(Target& target, Clock& clock, const std::string& trace_id, const std::atomic<int>& stop) {
  if (find_marker(target, clock, trace_id) != Marker::same)
    throw std::runtime_error(target.name() + ": not removed: the tree has no marker of this trace");
  BlockingSession session(target, clock);
  struct Folder {
    ObjectId id, parent;
    std::string name;
  };
  refuse_mounts(target, everything);
  TreeRemover removal(target, session, kFirstCleanupObject, kFirstCleanupObject, everything, &stop);
  for (const std::string& name : removal.list(kRootObject)) removal.remove(kRootObject, name, name);
  uint64_t failed = removal.failed;
  // A readdir leaves the marker out. It is removed last, so that a tree that could not be removed completely still carries it.
  if (!failed && session.perform({.kind = OpKind::unlink, .parent = kRootObject, .name = kMarkerName}).error) ++failed;
  if (failed) throw std::runtime_error(fmt::format("{}: {} names could not be removed", target.name(), failed));
}

}  // namespace fsr
