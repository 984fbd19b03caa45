// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/live_image.hpp"

#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "plan/image_tree.hpp"
#include "util/name_hash.hpp"

namespace fsr {

namespace {

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

LiveImage::LiveImage(Target& target, Clock& clock, LiveFiles how, const ImageOptions& options, const CredentialMap* credentials,
                     ObjectSet& known, const std::atomic<int>* stop)
    : target_(target), clock_(clock), how_(how), options_(options), credentials_(credentials), known_(known), stop_(stop) {
  options_.first_free = 2 * kFirstFree;
  options_.in_use = true;
  objects_.insert(kRootObject);
}

// Tells which names are to be left alone. `listed`: receives indexes of names that only a listing had shown before.
PresentNames LiveImage::sort_out(ImageTree& tree, std::vector<size_t>& listed) {
  PresentNames present(tree.names.size());
  for (size_t i = 0; i < present.size(); ++i) {
    ImageName& name = tree.names[i];
    const ObjectId id = tree.objects[name.object].id;
    const bool seen = names_.contains(name_hash(name.parent, name.name)), known = objects_.contains(id);
    if (how_ == LiveFiles::trust) {
      present[i] = known || name.placed || id >= kFirstFree;
    } else {
      present[i] = seen || (known && name.placed);
      if (known && !present[i]) name.link = true;  // another name of a file that is there
      if (seen && !known && id < kFirstFree) listed.push_back(i);
    }
    if (present[i]) name.placed = false;  // an earlier window has opened it
  }
  return present;
}

// Lets the target know the ids of files that were made for a listing, and gives them their sizes.
void LiveImage::adopt(const ImageTree& tree, const std::vector<size_t>& listed) {
  std::vector<Attr> sizes(listed.size());
  std::vector<Op> ops;
  for (size_t i = 0; i < listed.size(); ++i) {
    const ImageName& name = tree.names[listed[i]];
    const ImageObject& o = tree.objects[name.object];
    ops.push_back(
        {.seq = ops.size(), .kind = OpKind::lookup, .thread = 1, .object = o.id, .parent = name.parent, .name = name.name});
    if (o.type != S_IFREG || o.size() == 0) continue;
    sizes[i] = {.valid = kAttrSize, .size = o.size()};
    ops.push_back({.seq = ops.size(), .kind = OpKind::setattr, .thread = 1, .object = o.id, .set = &sizes[i]});
  }
  if (ops.empty()) return;
  Listed source(ops);
  const RunResult done =
      fsr::run(source, target_, clock_,
               {.timing = Timing::asap, .workers = 1, .credentials = credentials_, .known = &known_, .stop = stop_});
  PrepareResult result;
  result.failed = done.mismatches_total;
  result.failures = done.mismatches;
  count(result);
}

void LiveImage::count(const PrepareResult& result) {
  counts_.failed += result.failed;
  if (counts_.first_failed.empty() && !result.failures.empty()) {
    const Mismatch& first = result.failures.front();
    counts_.first_failed = fmt::format("{} {}: {}", op_name(first.kind), first.name, first.got);
  }
}

void LiveImage::remember(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return;
  for (const ObjectId id : {op.object, op.object2, op.parent, op.parent2})
    if (id) objects_.insert(id);
  for (const HandleId handle : {op.handle, op.handle2})
    if (handle) handles_.insert(handle);
  const bool moves = op.kind == OpKind::rename && !(op.flags & RENAME_EXCHANGE) && op.object != op.object2;
  if (op.parent && !op.name.empty()) {
    if (moves || op.kind == OpKind::unlink || op.kind == OpKind::rmdir)
      names_.erase(name_hash(op.parent, op.name));
    else
      names_.insert(name_hash(op.parent, op.name));
  }
  if (op.parent2 && !op.name2.empty()) names_.insert(name_hash(op.parent2, op.name2));
}

void LiveImage::prepare(const OpBatch& window) {
  Listed source(window.ops);
  Image image = Image::analyze(source, LiveState(), options_);
  ImageTree& tree = image.impl().tree;
  std::vector<size_t> listed;
  const PresentNames present = sort_out(tree, listed);
  bool done = false;
  try {
    adopt(tree, listed);
    const PrepareOptions how{.step = how_ == LiveFiles::trust ? PrepareStep::look_up : PrepareStep::all,
                             .opens = [this](HandleId handle) { return !handles_.contains(handle); },
                             .workers = 1,
                             .credentials = credentials_,
                             .stop = stop_};
    count(prepare_rest(image, present, target_, clock_, how, known_));
    done = true;
  } catch (const std::runtime_error& e) {
    // A server that is away now may be back for the operations themselves.
    ++counts_.failed;
    if (counts_.first_failed.empty()) counts_.first_failed = e.what();
  }
  for (size_t i = 0; i < present.size(); ++i) {
    const ImageName& name = tree.names[i];
    const ImageObject& o = tree.objects[name.object];
    if (o.id >= kFirstFree && how_ == LiveFiles::trust) continue;
    names_.insert(name_hash(name.parent, name.name));
    if (present[i] || name.link || !done) continue;
    ++(o.directory() ? counts_.directories : counts_.files);
    if (how_ == LiveFiles::lazy) counts_.bytes += o.data_length();
  }
  for (const ImageObject& o : tree.objects)
    if (o.id < kFirstFree) objects_.insert(o.id);
  options_.first_free = std::max(options_.first_free, tree.next_object);
  for (const Op& op : window.ops) remember(op);
}

}  // namespace fsr
