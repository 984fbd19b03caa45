// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/own_files.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <optional>

#include "base/clock.hpp"
#include "targets/blocking_session.hpp"

namespace fsr {

static bool makes(OpKind kind) {
  return kind == OpKind::create || kind == OpKind::mkdir || kind == OpKind::mknod || kind == OpKind::symlink;
}

class OwnFiles::Session final : public SessionLayer {
 public:
  Session(OwnFiles& owner, std::unique_ptr<TargetSession> below) : SessionLayer(std::move(below)), owner_(owner) {}
  Submit submit(TargetRequest& request) override {
    if (owner_.spares(*request.op)) {
      request.outcome = {.error = ESTALE, .completed = owner_.clock_.now()};
      return Submit::completed;
    }
    if (!makes(request.op->kind)) return SessionLayer::submit(request);
    // Targets look at a name to see whether a lost create is done (targets/lost_reply.hpp), but for one whose outcome was not
    // recorded. Here that look could take a file of others for an own one.
    Create& create = creates_[&request] = {*request.op, request.op};
    create.sent.op_flags |= kOpUnfinished;
    request.op = &create.sent;
    const Submit submitted = SessionLayer::submit(request);
    if (submitted == Submit::busy) take_back(request);
    return submitted;
  }

 private:
  struct Create {
    Op sent;
    const Op* asked = nullptr;
  };

  void take_back(TargetRequest& request) {
    const auto create = creates_.find(&request);
    if (create == creates_.end()) return;
    request.op = create->second.asked;
    creates_.erase(create);
  }

  void ended(TargetRequest& request, bool) override {
    take_back(request);
    owner_.ended(*request.op, request.outcome.error);
  }

  OwnFiles& owner_;
  std::unordered_map<const TargetRequest*, Create> creates_;  // in flight
};

// True: the server may have performed an operation that ended so. With other errors that are no answer, no byte was sent.
static bool may_be_done(int error) {
  return error == ETIMEDOUT || error == ECONNRESET || error == ECONNABORTED || error == EPIPE;
}

// True: the preparation has yet to make the name.
static bool is_to_be_made(const ImageName& name, bool present) { return !present && !name.link && !name.there; }

std::unique_ptr<TargetSession> OwnFiles::open_session() { return std::make_unique<Session>(*this, TargetLayer::open_session()); }

OwnFiles::Fate OwnFiles::of(ObjectId object) const {
  const auto found = fates_.find(object);
  return found == fates_.end() ? Fate() : found->second;
}

// True: the operation would change a file of others.
bool OwnFiles::spares(const Op& op) const {
  switch (op.kind) {
    case OpKind::setattr:
    case OpKind::write:
    case OpKind::setxattr:
    case OpKind::unlink:
      return op.object && op.object != kRootObject && !own(op.object);
    default:
      return false;
  }
}

void OwnFiles::ended(const Op& op, int error) {
  if (op.kind == OpKind::lookup) {
    fates_[op.object].last = error ? Last::failed : Last::found;
  } else if (makes(op.kind)) {
    Fate& fate = fates_[op.object];
    fate.last = !error ? Last::found : error == EEXIST ? Last::exists : Last::failed;
    if (!error) fate.own = true;
    if (fate.own) return;
    if (error == EEXIST && !fate.lost) fate.refused = true;
    if (may_be_done(error) && !fate.refused) fate.lost = true;
  }
}

bool OwnFiles::again(const ImageTree& tree, const PresentNames& present) const {
  for (size_t i = 0; i < tree.names.size(); ++i) {
    if (!is_to_be_made(tree.names[i], present[i])) continue;
    const Fate fate = of(tree.objects[tree.names[i].object].id);
    if ((fate.own || fate.lost) && fate.last == Last::exists) return true;
  }
  return false;
}

// Returns whether what has the name is as a create has made it. Empty: the target does not tell now.
static std::optional<bool> is_as_made(const ImageObject& o, BlockingSession& session) {
  const Outcome& found = session.perform({.kind = OpKind::getattr, .object = o.id});
  if (found.error) return std::nullopt;
  const Attr attr = found.attr;
  if (!(attr.valid & kAttrMode) || (attr.mode & S_IFMT) != o.type) return false;
  if (o.type == S_IFREG) return (attr.valid & kAttrSize) && attr.size == 0;
  if (o.type == S_IFDIR) {
    int error = 0;
    const bool empty = is_empty(session, o.id, &error);
    return error ? std::nullopt : std::optional(empty);
  }
  if (o.type != S_IFLNK) return true;
  const Outcome& link = session.perform({.kind = OpKind::readlink, .object = o.id});
  return link.error ? std::nullopt : std::optional(link.data == image_link_target(o));
}

void OwnFiles::sort_out(ImageTree& tree, PresentNames& present, const std::unordered_set<size_t>& exist, BlockingSession& session,
                        const std::function<bool()>& over) {
  for (const size_t i : exist) {
    if (over()) return;
    ImageName& name = tree.names[i];
    if (!is_to_be_made(name, present[i])) continue;
    const ImageObject& o = tree.objects[name.object];
    Fate& fate = fates_[o.id];
    // Files that an earlier attempt has made need no look.
    const std::optional<bool> own = fate.own ? true : fate.lost ? is_as_made(o, session) : false;
    if (!own) continue;
    fate.own = *own;
    name.there = *own;
    if (*own) continue;
    present[i] = true;
    others_.failures.push_back({.kind = OpKind::create, .name = name.name, .object = o.id, .expected = "ok", .got = "EEXIST"});
    ++others_.failed;
  }
}

}  // namespace fsr
