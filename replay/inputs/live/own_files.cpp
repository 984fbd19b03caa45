// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/own_files.hpp"

#include <sys/stat.h>

#include <cstring>
#include <optional>

#include "base/no_answer.hpp"
#include "targets/blocking_session.hpp"

namespace fsr {

// True: an outcome, as a mismatch names it, is no answer of the target.
static bool means_no_answer(const std::string& got) {
  constexpr int kMostErrors = 256;
  for (int error = 1; error < kMostErrors; ++error)
    if (const char* name = strerrorname_np(error); name && got == name) return is_no_answer(error);
  return false;
}

static bool makes(OpKind kind) {
  return kind == OpKind::create || kind == OpKind::mkdir || kind == OpKind::mknod || kind == OpKind::symlink;
}

// True: the preparation has yet to make the name.
static bool is_to_be_made(const ImageName& name, bool present) { return !present && !name.link && !name.there; }

bool OwnFiles::attempted(const ImageTree& tree, const PresentNames& present, const PrepareResult& result) {
  std::unordered_map<ObjectId, const Mismatch*> failures;
  for (const Mismatch& m : result.failures)
    if (makes(m.kind)) failures.emplace(m.object, &m);
  bool all_told = result.failures.size() == result.failed && !result.stopped;
  for (const Mismatch& m : result.failures) all_told &= m.kind != OpKind::null;
  bool again = false;
  for (size_t i = 0; i < tree.names.size(); ++i) {
    if (!is_to_be_made(tree.names[i], present[i])) continue;
    const ObjectId object = tree.objects[tree.names[i].object].id;
    const auto failed = failures.find(object);
    if (failed == failures.end()) {
      (all_told ? made_ : perhaps_made_).insert(object);
    } else if (means_no_answer(failed->second->got)) {
      perhaps_made_.insert(object);
    } else if (failed->second->got == "EEXIST") {
      if (made_.contains(object) || perhaps_made_.contains(object))
        again = true;
      else
        refused_.emplace(object, *failed->second);
    }
  }
  return again;
}

// Returns whether what has the name is as a create without a reply has made it. Empty: the target does not tell now.
static std::optional<bool> is_as_made(const ImageObject& o, BlockingSession& session) {
  const Outcome& found = session.perform({.kind = OpKind::getattr, .object = o.id});
  if (found.error) return std::nullopt;
  const Attr attr = found.attr;
  if ((attr.valid & kAttrMode) && (attr.mode & S_IFMT) != o.type) return false;
  if (o.type == S_IFREG) return !(attr.valid & kAttrSize) || attr.size == 0;
  if (o.type == S_IFDIR) return !(attr.valid & kAttrNlink) || attr.nlink <= 2;
  if (o.type != S_IFLNK || o.target.empty()) return true;
  const Outcome& link = session.perform({.kind = OpKind::readlink, .object = o.id});
  return link.error ? std::nullopt : std::optional(link.data == o.target);
}

void OwnFiles::sort_out(ImageTree& tree, PresentNames& present, const std::unordered_set<size_t>& exist,
                        BlockingSession& session) {
  for (const size_t i : exist) {
    ImageName& name = tree.names[i];
    if (!is_to_be_made(name, present[i])) continue;
    const ImageObject& o = tree.objects[name.object];
    std::optional<bool> own;
    if (made_.contains(o.id))
      own = true;
    else if (perhaps_made_.contains(o.id))
      own = is_as_made(o, session);
    else if (refused_.contains(o.id))
      own = false;
    if (!own) continue;
    name.there = *own;
    if (*own) continue;
    present[i] = true;
    const auto known = refused_.find(o.id);
    others_.failures.push_back(
        known != refused_.end()
            ? known->second
            : Mismatch{.kind = OpKind::create, .name = name.name, .object = o.id, .expected = "ok", .got = "EEXIST"});
    ++others_.failed;
  }
}

}  // namespace fsr
