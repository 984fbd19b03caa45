// SPDX-License-Identifier: Apache-2.0
#include "model/realiser.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "model/realiser_pick.hpp"
#include "trace/model.hpp"

namespace fsr {

Realiser::Realiser(const LoadModel& model, ModelWorld& world, ObjectId root, uint64_t seed)
    : model_(model), world_(world), tree_(world.tree), root_(root), random_(seed), entries_left_(most_entries()) {
  file_sizes_ = EvenDraw(random_.unit());
  for (const auto& [key, q] : model.sizes)
    if (key.first == uint32_t(OpKind::read)) largest_read_ = std::max(largest_read_, q.values.back());
  Near nobody;
  recency_.touch(nobody, root_);  // so that a thread that has touched nothing yet finds a directory
  for (const OftenUsedName& h : model.hot) {
    Hot hot{kNoObject, h.same ? hot_[h.same - 1].name : tree_.new_name()};
    hot_numbers_.try_emplace({h.parent, hot.name}, hot_.size());
    hot_.push_back(hot);
    const ObjectId in = hot_directory(hot_.size() - 1);
    if (!h.existed || in == kNoObject) continue;
    const ObjectId object = tree_.add(h.type ? h.type : kRegularType, in, hot.name, false);
    tree_.set_initial_size(object, h.size);
    named(object);
  }
}

ObjectId Realiser::hot_directory(size_t number) const {
  const uint32_t parent = model_.hot[number].parent;
  if (parent == 0 || model_.hot[parent - 1].type != kDirectoryType) return root_;
  const ObjectId object = hot_[parent - 1].object;  // the run may have made a file of that name
  return object != kNoObject && tree_.node(object).type == kDirectoryType ? object : kNoObject;
}

// Lets an often used name exist from the start, if no operation has shown that it does not. A small part of a load lacks the
// process that would have made it.
ObjectId Realiser::assume(size_t number, uint8_t type) {
  if (number >= hot_.size()) return kNoObject;
  const uint8_t its = model_.hot[number].type ? model_.hot[number].type : kRegularType;
  const ObjectId in = hot_directory(number);
  if (hot_[number].told || in == kNoObject || (type && type != its) || !tree_.may_hold_unlisted(in)) return kNoObject;
  const ObjectId object = tree_.add(its, in, hot_[number].name, false);
  tree_.set_initial_size(object, model_.hot[number].size);
  named(object);
  return object;
}

Realiser::Hot* Realiser::hot_name(ObjectId directory, uint64_t name) {
  const uint16_t in = directory == root_ ? 0 : tree_.node(directory).hot;
  if (!in && directory != root_) return nullptr;
  auto hot = hot_numbers_.find({in, name});
  return hot == hot_numbers_.end() ? nullptr : &hot_[hot->second];
}

void Realiser::named(ObjectId object) {
  std::vector<ObjectId> left{object};
  while (!left.empty()) {
    const ObjectId id = left.back();
    left.pop_back();
    ModelNode& n = tree_.node(id);
    Hot* hot = hot_name(n.parent, n.name);
    if (!hot) continue;
    hot->object = id;
    hot->told = true;
    n.hot = n.was_hot = uint16_t(hot - hot_.data() + 1);
    if (n.directory) left.insert(left.end(), n.directory->children.begin(), n.directory->children.end());
  }
}

void Realiser::unnamed(ObjectId object) {
  // A directory takes the paths of everything in it along.
  std::vector<ObjectId> left{object};
  while (!left.empty()) {
    ModelNode& n = tree_.node(left.back());
    left.pop_back();
    if (n.hot) hot_[n.hot - 1].object = kNoObject;
    n.hot = 0;
    if (n.directory) left.insert(left.end(), n.directory->children.begin(), n.directory->children.end());
  }
}

Realiser::Slot Realiser::slot(Reference parent, Actor& actor, ObjectId outside) {
  if (parent.relation == Relation::name) {
    if (parent.bucket >= hot_.size() || hot_[parent.bucket].object != kNoObject) return {};
    hot_[parent.bucket].told = true;
    const ObjectId in = hot_directory(parent.bucket);
    return {in != kNoObject && tree_.node(in).busy > now_ ? kNoObject : in, hot_[parent.bucket].name};
  }
  if (parent.relation != Relation::again) return {directory(parent, actor, outside), tree_.new_name()};
  const Slot absent{actor.absent_in, actor.absent};
  actor.absent_in = kNoObject;
  if (absent.directory == kNoObject && any_size_) return {directory({Relation::recent, 0}, actor, outside), tree_.new_name()};
  if (absent.directory == kNoObject || !tree_.node(absent.directory).linked) return {};
  if (const Hot* hot = hot_name(absent.directory, absent.name); hot && hot->object != kNoObject) return {};
  return absent;
}

uint64_t Realiser::size_of(OpKind kind, uint8_t size_class) {
  auto found = model_.sizes.find({uint32_t(kind), size_class});
  // A coarse symbol has no class: take one of those of its kind.
  if (found == model_.sizes.end()) {
    auto from = model_.sizes.lower_bound({uint32_t(kind), 0}), to = model_.sizes.lower_bound({uint32_t(kind), kBeyondEnd});
    if (from == to) return 0;
    std::advance(from, random_.below(uint64_t(std::distance(from, to))));
    found = from;
  }
  auto [draw, first] = size_draws_.try_emplace(found->first, EvenDraw(random_.unit()));
  return found->second.step(draw->second.next());
}

bool Realiser::may_come(const Symbol& s, Actor& a, int64_t now) {
  if (locks_differ(s, a)) return true;
  for (const Reference r : {s.object, s.second})
    if (r.relation == Relation::hot && r.bucket < hot_.size()) {
      const ObjectId object = hot_[r.bucket].object;
      if (object == kNoObject || tree_.node(object).busy > now ||
          (s.kind == OpKind::rmdir && !s.error && !tree_.is_empty(object)))
        return true;
    }
  if (s.parent.relation != Relation::name || s.parent.bucket >= hot_.size()) return false;
  const ObjectId in = hot_directory(s.parent.bucket);
  return hot_[s.parent.bucket].object != kNoObject || in == kNoObject || tree_.node(in).busy > now;
}

uint64_t Realiser::size_for(const Symbol& s) {
  return s.bytes ? s.bytes : size_of(finds_file(s.kind) ? OpKind::lookup : s.kind, s.size);
}

const Attr* Realiser::attributes(ObjectId object, Arena& arena) {
  const ModelNode& n = tree_.node(object);
  Attr* attr = arena.make<Attr>();
  attr->valid = kAttrMode;
  attr->mode = initial_mode(n.type);
  if (n.type == kRegularType) {
    attr->valid |= kAttrSize;
    attr->size = n.size;
  }
  return attr;
}

void Realiser::touch(Actor& a, ObjectId object) {
  root_touched_ |= object == root_;
  a.listings.use(tree_.node(object).parent, object);
  recency_.touch(a.near, object);
}

std::string_view Realiser::name(uint64_t number, Arena& arena) { return arena.copy(ModelTree::text(number)); }

void Realiser::meet(ObjectId id, uint8_t type) {
  tree_.decide(id, type);
  if (type != kRegularType) return;
  tree_.node(id).open_end = true;
  const uint16_t in = tree_.node(tree_.node(id).parent).hot;
  for (const uint8_t size_class : {in && in <= kListedNames ? uint8_t(kInHotDirectory + in - 1) : kInDirectory, kInDirectory})
    if (model_.sizes.contains({uint32_t(OpKind::lookup), size_class}))
      return tree_.set_initial_size(id, size_of(OpKind::lookup, size_class));
  tree_.set_initial_size(id, model_.files.step(file_sizes_.next()));
}

ObjectId Realiser::discover(Reference parent, uint8_t type, Actor& actor, uint64_t size) {
  ObjectId in = parent.relation == Relation::none ? kNoObject : directory(parent, actor);
  if (in == kNoObject || !tree_.may_hold_more(in))
    in = recency_.find(actor.near, {Relation::recent, 0}, random_,
                       [&](ObjectId id) { return tree_.may_hold_more(id) && tree_.node(id).busy <= now_; });
  if (in == kNoObject && tree_.may_hold_more(root_)) in = root_;
  if (in == kNoObject) return kNoObject;
  const ObjectId made = tree_.discover(in, type ? type : kRegularType);
  tree_.node(made).open_end = true;
  tree_.set_initial_size(made, size != kUnknownSize ? size : model_.files.step(file_sizes_.next()));
  return made;
}

ObjectId Realiser::directory(Reference reference, Actor& actor, ObjectId outside) {
  return pick(reference, kDirectoryType, actor,
              [&](ObjectId id) { return outside == kNoObject || !tree_.is_below(id, outside); });
}

void Realiser::opened(Actor& a, Op& op, ObjectId object, uint32_t flags, bool is_directory) {
  op.handle = ++world_.handles;
  op.open_flags = flags;
  all_opens_.push_back(op.handle);
  Open& open = opens_[op.handle];
  open.object = object;
  open.flags = flags;
  open.directory = is_directory;
  open.place = std::prev(all_opens_.end());
  hold(a, op.handle);
}

void Realiser::hold(Actor& a, HandleId handle) {
  opens_[handle].holders.insert(&a);
  a.handles.push_back(handle);
}

void Realiser::let_go(Actor& a, HandleId handle) {
  opens_[handle].holders.erase(&a);
  std::erase(a.handles, handle);
}

void Realiser::inherit(const Actor& parent, Actor& child) {
  for (size_t i = parent.handles.size() - std::min(parent.handles.size(), kMostInherited); i < parent.handles.size(); ++i)
    hold(child, parent.handles[i]);
}

void Realiser::closed(HandleId handle) {
  auto open = opens_.find(handle);
  unlock(open->second.object, 0, handle);
  for (Actor* holder : open->second.holders) std::erase(holder->handles, handle);
  all_opens_.erase(open->second.place);
  opens_.erase(open);
}

void Realiser::in_flight(const Op& op) {
  for (HandleId handle : {op.handle, op.handle2})
    if (auto open = opens_.find(handle); open != opens_.end()) open->second.busy = std::max(open->second.busy, op.end());
  if (!changes_locks(op.kind)) return;
  ModelLocks* locks = tree_.node(op.object).locks.get();
  if (!locks) return;
  const bool takes = (op.kind == OpKind::setlk && op.mode != F_UNLCK) || (op.kind == OpKind::flock && !(op.mode & LOCK_UN));
  if (takes && !op.error) locks->taken = std::max(locks->taken, op.end());
  if (!takes || locks->replaced) locks->freed = std::max(locks->freed, op.end());
  locks->replaced = false;
}

std::vector<ObjectId> Realiser::open_directories(const Actor& actor) const {
  std::vector<ObjectId> directories;
  for (HandleId id : actor.handles)
    if (auto open = opens_.find(id); open != opens_.end() && open->second.directory) directories.push_back(open->second.object);
  return directories;
}

bool Realiser::realise(const Symbol& s, Actor& a, Op& op, Arena& arena, bool any_size) {
  now_ = op.start;
  any_size_ = any_size;
  op.kind = s.kind;
  op.error = s.error;
  if (kind_traits(s.kind) & (kHasName | kHasName2)) return names(s, a, op, arena);
  switch (s.kind) {
    case OpKind::tmpfile: {
      const ObjectId in = s.error ? kNoObject : directory(s.parent, a);
      if (in == kNoObject) return false;
      op.parent = in;
      op.mode = S_IFREG | 0644;
      op.object = tree_.add_nameless(kRegularType);
      tree_.node(op.object).made = true;
      opened(a, op, op.object, s.argument, false);
      op.attr = attributes(op.object, arena);
      touch(a, op.object);
      return true;
    }
    case OpKind::open:
    case OpKind::opendir:
      return open(s, a, op);
    default:
      return s.handle ? on_handle(s, a, op, arena) : on_object(s, a, op, arena);
  }
}

bool Realiser::open(const Symbol& s, Actor& a, Op& op) {
  if (s.error) return false;
  const bool directory = s.kind == OpKind::opendir;
  const ObjectId object = pick_file(s, directory ? kDirectoryType : kRegularType, a, [](ObjectId) { return true; });
  if (object == kNoObject) return false;
  op.object = object;
  if (!directory && s.argument & O_TRUNC) {
    tree_.node(object).size = 0;
    tree_.node(object).open_end = false;
  }
  opened(a, op, object, s.argument, directory);
  touch(a, object);
  return true;
}

bool Realiser::on_object(const Symbol& s, Actor& a, Op& op, Arena& arena) {
  const bool file_system = s.kind == OpKind::statfs || s.kind == OpKind::syncfs;
  const bool data = s.kind == OpKind::read || s.kind == OpKind::write;
  const bool sizes = data || (s.kind == OpKind::setattr && s.argument & kAttrSize);
  const uint8_t type = s.kind == OpKind::readlink ? kSymlinkType : sizes ? kRegularType : s.type;
  const bool holds = !s.error || s.kind == OpKind::getxattr || s.kind == OpKind::removexattr || s.error == EOPNOTSUPP;
  if (!holds) return false;
  op.object = file_system && s.object.relation == Relation::none ? root_ : pick_file(s, type, a, [&](ObjectId id) {
    return s.kind != OpKind::removexattr || !s.error || tree_.node(id).linked;
  });
  if (op.object == kNoObject) return false;
  ModelNode& n = tree_.node(op.object);
  switch (s.kind) {
    case OpKind::getattr:
    case OpKind::statx:
      op.attr = attributes(op.object, arena);
      break;
    case OpKind::setattr:
      if (!set_attributes(s, op, arena)) return false;
      break;
    case OpKind::access:
      // Files of the invented tree can't be executed.
      op.mode = n.type == kDirectoryType ? s.argument : s.argument & ~uint32_t(X_OK);
      break;
    case OpKind::readlink:
      op.data = kModelTarget;
      break;
    case OpKind::read:
    case OpKind::write:
      if (!transfer(s, op, positions_[op.object])) return false;
      break;
    case OpKind::getxattr:
    case OpKind::setxattr:
    case OpKind::removexattr:
      if (!xattr(s, op, arena)) return false;
      break;
    case OpKind::listxattr:
      // A target may add attributes of its own, so only a file without any is listed.
      if (n.xattrs) return false;
      break;
    case OpKind::statfs:
    case OpKind::fsync:
    case OpKind::fsyncdir:
    case OpKind::ioctl:
      op.flags = s.argument;
      break;
    case OpKind::syncfs:
      break;
    default:
      return false;
  }
  if (!s.error) touch(a, op.object);
  return true;
}

bool Realiser::set_attributes(const Symbol& s, Op& op, Arena& arena) {
  if (s.error) return false;
  constexpr int64_t kTime = 1'600'000'000'000'000'000;  // ns since the Unix epoch; any time would do
  ModelNode& n = tree_.node(op.object);
  Attr* set = arena.make<Attr>();
  set->valid = s.argument ? s.argument : uint32_t(kAttrMode);
  set->mode = attributes(op.object, arena)->mode;
  set->atime = set->mtime = kTime;
  if (set->valid & kAttrSize) {
    if (n.type != kRegularType) return false;
    n.open_end = false;
    switch (s.extent) {
      case Extent::empty:
        n.size = 0;
        break;
      case Extent::same:
        break;
      case Extent::smaller:
        if (n.size == 0) return false;
        n.size = random_.below(n.size);
        break;
      default:
        n.size = size_for(s);
    }
    set->size = n.size;
  }
  op.set = set;
  op.attr = attributes(op.object, arena);
  return true;
}

bool Realiser::xattr(const Symbol& s, Op& op, Arena& arena) {
  ModelNode& n = tree_.node(op.object);
  const uint8_t bit = uint8_t(1u << (s.argument & 7));
  op.name = arena.copy(xattr_of(s.argument));
  if (s.kind == OpKind::setxattr) {
    if (s.error) return s.error == EOPNOTSUPP;
    // Only user attributes can be set everywhere; the value is text of no meaning.
    if (s.argument != 0) return false;
    n.xattrs |= bit;
    op.data = "value";
    op.length = op.data.size();
    return true;
  }
  if (s.error == EOPNOTSUPP) return true;
  if (s.error && s.error != ENODATA) return false;
  const bool there = n.xattrs & bit;
  if (there == (s.error != 0)) return false;
  if (s.kind == OpKind::removexattr) {
    n.xattrs = uint8_t(n.xattrs & ~bit);
  } else if (there) {
    op.data = "value";
    op.length = op.result = op.data.size();
  }
  return true;
}

}  // namespace fsr
