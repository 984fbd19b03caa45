// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/live_image.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/knock_on_tracker.hpp"
#include "plan/clones.hpp"
#include "plan/image_tree.hpp"
#include "plan/linearizer.hpp"
#include "targets/blocking_session.hpp"

namespace fsr {

namespace {

constexpr int64_t kListed = 5'000'000'000;  // ns for which a listing may still show a name that was removed
constexpr int64_t kPause = 250'000'000;     // ns between two attempts
constexpr size_t kDescribed = 100'000;      // failures of a preparation that are looked at

bool adds_object(OpKind kind) {
  return kind == OpKind::lookup || kind == OpKind::create || kind == OpKind::mkdir || kind == OpKind::mknod ||
         kind == OpKind::symlink;
}

// Yields the same operations to each of several readers.
class Listed final : public OpSource {
 public:
  explicit Listed(const std::vector<Op>& ops) : ops_(ops) {}
  bool next(OpBatch& batch) override {
    batch.clear();
    if (!std::exchange(read_, true)) batch.ops = ops_;
    return !batch.ops.empty();
  }

 private:
  const std::vector<Op>& ops_;
  bool read_ = false;
};

}  // namespace

LiveImage::LiveImage(Target& target, Clock& clock, const LiveOptions& live, const ImageOptions& options,
                     const CredentialMap* credentials, ObjectSet& known, KnockOnTracker& differences,
                     const std::atomic<int>* stop)
    : clock_(clock),
      own_(target, clock),
      target_(own_),
      how_(live.files),
      resync_(live.resync),
      clones_(live.clones),
      options_(options),
      credentials_(credentials),
      known_(known),
      differences_(differences),
      patience_(live.lag_max),
      stop_(stop) {
  options_.first_free = 2 * kFirstFree;
  options_.in_use = true;
  options_.cloned = clones_;
}

void LiveImage::begin_with(const LiveState& state, bool locks) {
  checkpoint_.emplace(state, locks, clones_);
  if (const LiveObject* root = state.object(kRootObject)) root_ = root->attr;
}

void LiveImage::forget(const std::unordered_set<ObjectId>& missing) {
  for (const ObjectId object : missing) {
    missing_.insert(object);
    content_.forget(object);
  }
}

// Adds lookups of the directories of the clones, which no operation shows, with the attributes of the captured directory.
void LiveImage::show_clones(std::span<const Op> window, OpBatch& shown) const {
  constexpr uint32_t kUsual = 0755;
  for (unsigned n = 0; clones_ > 1 && n < clones_; ++n) {
    const ObjectId object = CloneSource::object_of(kRootObject, n, clones_);
    Attr* attr = shown.arena.make<Attr>();
    *attr = root_;
    const auto told = std::ranges::find_if(window, [object](const Op& op) {
      return op.object == object && !op.error && op.kind != OpKind::setattr && op.attr && (op.attr->valid & kAttrMode);
    });
    if (!(attr->valid & kAttrMode) && told != window.end()) *attr = *told->attr;
    attr->mode = S_IFDIR | (attr->valid & kAttrMode ? attr->mode & 07777 : kUsual);
    attr->valid = (attr->valid & (kAttrUid | kAttrGid)) | kAttrMode;
    shown.ops.push_back({.start = window.front().start,
                         .kind = OpKind::lookup,
                         .thread = 1,
                         .object = object,
                         .parent = kRootObject,
                         .name = shown.arena.copy(clone_directory(n)),
                         .attr = attr});
  }
}

// Adds lookups that show the names of missing objects which the window uses, and of the directories above them.
void LiveImage::show_missing(std::span<const Op> window, OpBatch& shown) const {
  if (missing_.empty()) return;
  std::unordered_set<ObjectId> seen;
  auto show = [&](ObjectId object) {
    std::vector<Op> path;  // from the object up
    std::string name;
    for (ObjectId parent = kNoObject; object > kRootObject && paths_.find(object, &parent, &name); object = parent) {
      if (!seen.insert(object).second) break;
      path.push_back({.start = window.front().start,
                      .kind = OpKind::lookup,
                      .thread = 1,
                      .object = object,
                      .parent = parent,
                      .name = shown.arena.copy(name)});
    }
    shown.ops.insert(shown.ops.end(), path.rbegin(), path.rend());
  };
  for (const Op& op : window)
    for (const ObjectId object : {op.object, op.parent, op.parent2})
      if (missing_.contains(object)) show(object);
}

// Returns which names are to be left alone. `begin`: recorded time of the window. `unsure`: receives indexes of names that may be
// there, because an earlier preparation of them failed.
PresentNames LiveImage::sort_out(ImageTree& tree, int64_t begin, Indexes& unsure) const {
  PresentNames present(tree.names.size());
  for (size_t i = 0; i < present.size(); ++i) {
    ImageName& name = tree.names[i];
    const ObjectId id = tree.objects[name.object].id;
    const bool missing = !name.placed && missing_.contains(id), known = names_.object(id) && !missing, listed = id >= kFirstFree;
    if (how_ == LiveFiles::trust) {
      present[i] = known || name.placed || listed;
    } else {
      // An operation of an earlier window that was still in flight may have removed the name.
      const bool removed = names_.removed_since(name.parent, name.name, listed ? begin - kListed : begin);
      const bool seen = (names_.name(name.parent, name.name) && !missing) || removed;
      const bool made = seen && !removed && names_.listed(name.parent, name.name);  // only for a listing
      const bool unknown = seen && !removed && !made && !known && !listed;          // of others, or of another object
      name.there = made && !listed;
      if (made && known) name.link = true;  // the name turns out to be another one of a file that is there
      present[i] = (seen && !name.there && !unknown) || (known && name.placed);
      if (known && !present[i]) name.link = true;  // another name of a file that is there
      if (!present[i] && !name.link && (missing || unknown)) unsure.push_back(i);
    }
    if (present[i]) name.placed = false;  // an earlier window has opened it
  }
  return present;
}

PrepareResult LiveImage::perform(const std::vector<Op>& ops) {
  PrepareResult result;
  if (ops.empty()) return result;
  Listed source(ops);
  const RunResult done = fsr::run(source, target_, clock_,
                                  {.timing = Timing::asap,
                                   .workers = 1,
                                   .mismatches = kDescribed,
                                   .credentials = credentials_,
                                   .known = &known_,
                                   .stop = stop_});
  result.failed = done.mismatches_total;
  result.unanswered = done.unanswered;
  result.failures = done.mismatches;
  return result;
}

// Returns those of the names that the target has, and lets it know the ids of their objects.
std::unordered_set<size_t> LiveImage::look_up(const ImageTree& tree, const Indexes& names) {
  std::vector<Op> ops;
  for (const size_t i : names) {
    const ImageName& name = tree.names[i];
    const ObjectId object = tree.objects[name.object].id;
    own_.ask(object);
    ops.push_back({.seq = i, .kind = OpKind::lookup, .thread = 1, .object = object, .parent = name.parent, .name = name.name});
  }
  perform(ops);
  std::unordered_set<size_t> found;
  for (const size_t i : names)
    if (own_.found(tree.objects[tree.names[i].object].id)) found.insert(i);
  return found;
}

PrepareResult LiveImage::attempt(Image& image, const PresentNames& present, const OpBatch& late) {
  const PrepareOptions how{.step = how_ == LiveFiles::trust ? PrepareStep::look_up : PrepareStep::all,
                           .opens = [this](HandleId handle) { return !names_.handle(handle); },
                           .workers = 1,
                           .credentials = credentials_,
                           .stop = stop_,
                           .described = kDescribed};
  try {
    PrepareResult result = prepare_rest(image, present, target_, clock_, how, known_);
    result.add(perform(late.ops));
    return result;
  } catch (const std::runtime_error& e) {  // no session could be opened
    PrepareResult result;
    result.failed = result.unanswered = 1;
    result.failures.push_back({.kind = OpKind::null, .expected = "ok", .got = e.what()});
    return result;
  }
}

// True: a preparation that began at `begin` (clock, ns) is not to go on.
bool LiveImage::over(int64_t begin) const {
  return (stop_ && stop_->load(std::memory_order_relaxed)) || clock_.now() - begin >= patience_;
}

// Repeats the preparation while the target does not reply.
PrepareResult LiveImage::attempts(Image& image, PresentNames& present, const OpBatch& late) {
  const int64_t begin = clock_.now();
  ImageTree& tree = image.impl().tree;
  for (size_t i = 0; i < present.size(); ++i)
    if (!present[i] && tree.names[i].there && !tree.names[i].link) own_.add(tree.objects[tree.names[i].object].id);
  for (;;) {
    PrepareResult result = attempt(image, present, late);
    const bool again = how_ == LiveFiles::lazy && own_.again(tree, present);
    if ((result.unanswered == 0 && !again) || over(begin)) {
      result.add(own_.others());
      return result;
    }
    ++counts_.repeated;
    std::this_thread::sleep_for(std::chrono::nanoseconds(kPause));
    if (how_ == LiveFiles::trust) continue;
    Indexes tried;
    for (size_t i = 0; i < present.size(); ++i)
      if (!present[i] && !tree.names[i].link) tried.push_back(i);
    try {
      const std::unordered_set<size_t> exist = look_up(tree, tried);
      BlockingSession session(target_, clock_, patience_);
      own_.sort_out(tree, present, exist, session, [&] { return over(begin); });
    } catch (const std::runtime_error&) {
      // The next attempt says it, too.
    }
  }
}

// Counts failures. An object that exists on the target against expectation gets its id.
LiveImage::Learnt LiveImage::learn(const ImageTree& tree, const PrepareResult& result) {
  // A preparation that failed is tried again at each use. It counts once.
  const auto again = [this](const Mismatch& m) { return missing_.contains(m.object); };
  counts_.failed += result.failed - uint64_t(std::ranges::count_if(result.failures, again));
  Learnt learnt;
  std::unordered_set<ObjectId>& failed = learnt.failed;
  std::unordered_set<ObjectId> exist;
  for (const Mismatch& m : result.failures) {
    if (counts_.first_failed.empty())
      counts_.first_failed =
          m.kind == OpKind::null ? m.got : fmt::format("{}{}{}: {}", op_name(m.kind), m.name.empty() ? "" : " ", m.name, m.got);
    if (m.kind == OpKind::null)
      for (const ImageObject& o : tree.objects) failed.insert(o.id);
    if (!adds_object(m.kind)) continue;  // the object is there, although not as it should be
    failed.insert(m.object);
    if (m.got == "EEXIST") exist.insert(m.object);
    if (ObjectId parent = kNoObject; resync_ && (m.got == "ENOENT" || m.got == "ESTALE"))
      if (std::string name; paths_.find(m.object, &parent, &name) && parent > kRootObject) failed.insert(parent);
  }
  Indexes names;
  for (size_t i = 0; i < tree.names.size(); ++i) {
    const ObjectId object = tree.objects[tree.names[i].object].id;
    if (tree.names[i].link) continue;
    if (own_.failed(object)) failed.insert(object);  // also if its failure is not described
    if (own_.exists(object) || exist.contains(object)) names.push_back(i);
  }
  if (names.empty()) return learnt;
  try {
    for (const size_t i : look_up(tree, names)) {
      const ObjectId object = tree.objects[tree.names[i].object].id;
      failed.erase(object);
      learnt.others.insert(object);
    }
  } catch (const std::runtime_error&) {
    // No session could be opened. The objects are tried again at their next use.
  }
  return learnt;
}

// Remembers and counts what was made.
void LiveImage::keep(const ImageTree& tree, const PresentNames& present, const Learnt& learnt) {
  const auto& [failed, others] = learnt;
  const bool content = options_.content && how_ == LiveFiles::lazy;
  for (size_t i = 0; i < present.size(); ++i) {
    const ImageName& name = tree.names[i];
    const ImageObject& o = tree.objects[name.object];
    if (o.id >= kFirstFree && how_ == LiveFiles::trust) continue;
    if (failed.contains(o.id)) {
      if (o.id < kFirstFree) missing_.insert(o.id);
      continue;
    }
    if (present[i] && how_ == LiveFiles::trust) continue;  // nothing was looked up
    if (missing_.erase(o.id)) differences_.made_again(o.id, name.parent, name.name);
    const bool of_others = others.contains(o.id) && !name.link;
    if (present[i] && !of_others) continue;
    const bool made = how_ == LiveFiles::trust || own_.own(o.id);
    names_.add_name(name.parent, name.name, o.id >= kFirstFree && made && !of_others);
    if (name.link || of_others || !made) continue;
    if (content && o.id < kFirstFree) content_.made(o);
    ++(o.directory() ? counts_.directories : counts_.files);
    if (how_ == LiveFiles::lazy) counts_.bytes += o.data_length();
  }
  for (const ImageObject& o : tree.objects)
    if (o.id < kFirstFree && !failed.contains(o.id)) names_.add_object(o.id);
  for (const LiveOpen& open : tree.opens)
    if (!failed.contains(open.object)) names_.add_handle(open.handle);
}

void LiveImage::prepare(std::span<const Op> window, std::span<const Op> later) {
  if (window.empty()) return;
  std::vector<Op> ops(window.begin(), window.end());
  Listed alone(ops);
  OpBatch all;
  show_clones(window, all);
  show_missing(window, all);
  all.ops.insert(all.ops.end(), window.begin(), window.end());
  all.ops.insert(all.ops.end(), later.begin(), later.end());
  Listed both(all.ops);
  Image image = Image::analyze(both, checkpoint_ ? checkpoint_->first_used(window) : LiveState(), options_);
  ImageTree& tree = image.impl().tree;
  const int64_t begin = window.front().start;
  Indexes unsure;
  PresentNames present = sort_out(tree, begin, unsure);
  OpBatch late;
  const uint64_t late_bytes = content_.collect(tree, late);
  own_.begin();
  for (const Op& op : late.ops) own_.add(op.object);
  if (!unsure.empty()) try {
      for (const size_t i : look_up(tree, unsure)) present[i] = true;  // an operation has made it since
    } catch (const std::runtime_error&) {
      // The attempts say it, too.
    }
  const PrepareResult result = attempts(image, present, late);
  counts_.bytes += late_bytes;
  keep(tree, present, learn(tree, result));
  options_.first_free = std::max(options_.first_free, tree.next_object);
  Linearizer order(alone, INT64_MIN, INT64_MAX);
  while (const Op* op = order.next()) {
    names_.apply(*op);
    if (resync_) paths_.apply(*op);
  }
  names_.forget_removed(begin - kListed);
}

}  // namespace fsr
