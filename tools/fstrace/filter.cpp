// SPDX-License-Identifier: Apache-2.0
// fstrace filter: the operations of some kinds, processes, users or paths, in a trace that replays by itself.
//
// Other operations are kept, too. They make, move or remove the files of the selected operations, or write the files that these
// read. They open and close their open instances, or end their locks. The first pass finds these operations, the second one the
// files that must exist at the start (for the checkpoint), and the third one writes. Memory grows with the number of objects and
// renames, and by one bit an operation.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "selection.hpp"
#include "subcommand.hpp"
#include "trace/model.hpp"
#include "trace_output.hpp"
#include "util/name_hash.hpp"
#include "util/object_set.hpp"
#include "util/status_line.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

bool opens_or_closes(OpKind kind) { return (kind_traits(kind) & (kMakesHandle | kEndsHandle)) != 0; }

bool changes_names(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return false;
  return op.kind == OpKind::unlink || op.kind == OpKind::rmdir ||
         (kind_traits(op.kind) & (kMakesObject | kHasName2) && (op.kind != OpKind::create || op.has(kOpCreated)));
}

bool changes_data(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return false;
  return op.kind == OpKind::write || op.kind == OpKind::fallocate || op.kind == OpKind::copy_file_range ||
         (op.kind == OpKind::setattr && op.set && op.set->valid & kAttrSize);
}

// The files that must exist at the start for the operations that are kept.
class Needs {
 public:
  // `before`: what is known of the tree just before the first operation.
  explicit Needs(LiveState before) : all_(std::move(before)) {
    all_.each_name(
        [&](ObjectId parent, std::string_view name, ObjectId object, uint32_t) { paths_.learn(parent, name, object); });
    known_.insert(kRootObject);
  }
  const Paths& paths() const { return paths_; }
  // Call begin() and end() for each operation, in order. Between the two, paths() is as Selection::matches() needs it.
  void begin(const Op& op) {
    if (op.kind != OpKind::rename) paths_.apply(op);
  }
  void end(const Op& op, bool kept) {
    if (kept) need(op);
    if (op.kind == OpKind::rename) paths_.apply(op);
    all_.apply(op);
  }
  LiveState take() { return std::move(start_); }

 private:
  void need(const Op& op) {
    const uint16_t traits = kind_traits(op.kind);
    const bool good = !op.error && !op.has(kOpUnfinished);
    for (ObjectId id : {op.parent, op.parent2, op.object2}) object(id);
    if (traits & kMakesHandle) {
      if (good) opened_.insert(op.handle);
    } else {
      handle(op.handle);
    }
    handle(op.handle2);
    const bool makes = good && traits & kMakesObject && (op.kind != OpKind::create || op.has(kOpCreated));
    // A lookup or a create that finds a file shows its name by itself.
    const bool shows = good && (op.kind == OpKind::lookup || op.kind == OpKind::create);
    if (makes || shows)
      known_.insert(op.object);
    else
      object(op.object);
    // Names that the operations themselves show to have been free.
    if (makes || (op.kind == OpKind::lookup && op.error == ENOENT)) free_.insert(name_hash(op.parent, op.name));
    if (good && traits & kHasName2 && !(op.flags & RENAME_EXCHANGE)) free_.insert(name_hash(op.parent2, op.name2));
  }

  void handle(HandleId id) {
    if (!id || !opened_.insert(id)) return;
    const LiveOpen* open = all_.open(id);
    if (!open) return;
    object(open->object);
    Op op{.kind = open->directory ? OpKind::opendir : OpKind::open, .thread = open->thread};
    op.object = open->object;
    op.handle = id;
    op.open_flags = open->open_flags & ~unsigned(O_TRUNC | O_CREAT | O_EXCL);
    start_.apply(op);
  }

  void object(ObjectId id) {
    if (!id || !known_.insert(id)) return;
    const LiveObject* live = all_.object(id);
    ObjectId parent, there;
    std::string name;
    if (!live || !paths_.find(id, &parent, &name)) return;
    object(parent);
    // Only where it still has that name, and nobody who is kept has or makes another one there.
    if (!all_.lookup(parent, name, &there) || there != id || free_.contains(name_hash(parent, name))) return;
    if (start_.lookup(parent, name, &there)) return;
    Op op{.kind = OpKind::lookup, .object = id, .parent = parent};
    op.name = name;
    op.attr = &live->attr;
    start_.apply(op);
    if (live->target.empty()) return;
    Op link{.kind = OpKind::readlink, .object = id};
    link.data = live->target;
    start_.apply(link);
  }

  LiveState all_, start_;
  Paths paths_;
  ObjectSet known_;
  ObjectSet opened_;  // handles
  std::unordered_set<uint64_t> free_;
};

struct FilterOptions {
  std::vector<std::string> files;
  Selection selection;
  OutputOptions output;
};

class Filter {
 public:
  explicit Filter(FilterOptions& options) : options_(options), reader_(open_trace(options.files)) {}

  int run() {
    const Selection& selection = options_.selection;
    uint64_t matching = 0;
    pass("reading", [&](const Op& op, bool matches) {
      matching += matches;
      if (matches) use(op);
      if (ends_locks(op)) handles_.insert(op.handle);
      if (op.kind == OpKind::rename && !op.error && op.object && op.object2) renames_.emplace_back(op.object, op.object2);
      return false;
    });
    use_replaced();
    if (matching == 0) throw std::runtime_error(options_.files.front() + ": no operation matches " + selection.words());
    pass("reading", [&](const Op& op, bool matches) {
      kept_.push_back(matches || is_used(op));
      if (kept_.back()) handles_.insert(op.handle);  // keeps the later close of this open instance
      return bool(kept_.back());
    });
    LiveState initial = needs_->take();
    TraceHeader header = edited(reader_->header(), "filter " + selection.words());
    const int64_t shift = std::max<int64_t>(selection.from(), 0);
    header.epoch += shift;
    header.nfs = {};
    TraceOutput output(options_.output, header, std::move(initial));
    seek(*reader_, selection, nullptr);
    uint64_t at = 0;
    each("writing", [&](Op& op) {
      if (!kept_[at++]) return;
      op.start -= shift;
      output.add(op);
    });
    output.finish(closing_after(*reader_, "filter", {selection.from(), selection.to(), -shift}));
    report_output(options_.output, output, reader_->operations());
    if (output.operations() > matching)
      fmt::print("{} of these match; the others create, open, write or remove files of the matching operations\n",
                 format_count(matching));
    return report_damage(options_.files.front(), *reader_);
  }

 private:
  void use(const Op& op) {
    if (op.kind == OpKind::read || op.kind == OpKind::lseek || op.kind == OpKind::copy_file_range) data_.insert(op.object);
    if (op.kind == OpKind::setlk) lockers_.emplace(op.object, op.owner);
    handles_.insert(op.handle);
    handles_.insert(op.handle2);
    for (ObjectId id : {op.object, op.object2, op.parent, op.parent2}) {
      std::string name;
      while (id && objects_.insert(id) && needs_->paths().find(id, &id, &name)) {
      }
    }
  }
  // A rename that replaces a used object needs both objects: the one that it moves and the one that it replaces.
  void use_replaced() {
    bool more = true;
    auto join = [&](const std::pair<ObjectId, ObjectId>& both) {
      if (objects_.contains(both.first) == objects_.contains(both.second)) return;
      objects_.insert(both.first);
      objects_.insert(both.second);
      more = true;
    };
    while (more) {  // in both directions, because a file that was replaced many times makes a long chain of renames
      more = false;
      std::for_each(renames_.begin(), renames_.end(), join);
      std::for_each(renames_.rbegin(), renames_.rend(), join);
    }
    renames_ = {};
  }
  // True: a close, maybe of another open instance, ends locks of a selected operation.
  bool ends_locks(const Op& op) const { return op.kind == OpKind::flush && lockers_.contains({op.object, op.owner}); }
  bool is_used(const Op& op) const {
    if (ends_locks(op)) return true;
    if (op.handle && opens_or_closes(op.kind) && handles_.contains(op.handle)) return true;
    const bool for_writing = op.kind == OpKind::open && !op.error && (op.open_flags & O_ACCMODE) != O_RDONLY;
    if ((for_writing || changes_data(op)) && data_.contains(op.kind == OpKind::copy_file_range ? op.object2 : op.object))
      return true;
    return changes_names(op) && ((op.object && objects_.contains(op.object)) || (op.object2 && objects_.contains(op.object2)));
  }

  template <class Visit>
  void each(const char* label, Visit visit) {
    StatusLine line(false);
    OpBatch batch;
    for (bool more = true; more && reader_->next(batch);) {
      for (Op& op : batch.ops) {
        if (!(more = op.start < options_.selection.to())) break;
        visit(op);
      }
      line.bar(label, reader_->position_bytes(), reader_->file_bytes());
    }
  }

  // One pass with the tree as it was at each operation: visit(op, matches) says whether the operation is kept.
  template <class Visit>
  void pass(const char* label, Visit visit) {
    LiveState state;
    reader_->load_state(options_.selection.from(), state);
    needs_ = std::make_unique<Needs>(std::move(state));
    each(label, [&](const Op& op) {
      needs_->begin(op);
      const bool matches = options_.selection.matches(op, needs_->paths());
      needs_->end(op, visit(op, matches));
    });
  }

  FilterOptions& options_;
  std::unique_ptr<TraceReader> reader_;
  std::unique_ptr<Needs> needs_;
  // Open instances and objects that selected operations use, and objects that they read.
  ObjectSet handles_, objects_, data_;
  std::set<std::pair<ObjectId, uint64_t>> lockers_;     // objects and owners of selected lock requests
  std::vector<std::pair<ObjectId, ObjectId>> renames_;  // of one object over another
  std::vector<bool> kept_;
};

int filter(FilterOptions& options) {
  options.selection.parse();
  if (options.selection.everything())
    throw std::runtime_error("filter: expected --op, --process, --uid or --path (for a range of time: fstrace cut)");
  return Filter(options).run();
}

}  // namespace

Run add_filter(Command& command) {
  auto options = std::make_shared<FilterOptions>();
  add_files(command, options->files);
  options->output.add(command);
  options->selection.add_time_options(command);
  options->selection.add_options(command);
  return [options] { return filter(*options); };
}

}  // namespace fsr::fstrace
