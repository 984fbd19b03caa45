// SPDX-License-Identifier: Apache-2.0
#include "engine/prepare.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "base/clock.hpp"
#include "engine/reconcile.hpp"
#include "plan/image_source.hpp"
#include "targets/blocking_session.hpp"
#include "util/object_set.hpp"

namespace fsr {

Marker find_marker(Target& target, Clock& clock, const std::string& trace_id) {
  BlockingSession session(target, clock);
  int error =
      session.perform({.kind = OpKind::lookup, .object = kMarkerObject, .parent = kRootObject, .name = kMarkerName}).error;
  if (error == ENOENT) return Marker::absent;
  if (!error)
    error =
        session.perform({.kind = OpKind::open, .open_flags = O_RDONLY, .object = kMarkerObject, .handle = kMarkerObject}).error;
  if (error) throw std::runtime_error(fmt::format("{}: {}: {}", target.name(), kMarkerName, strerror(error)));
  Op op{.kind = OpKind::read, .object = kMarkerObject, .handle = kMarkerObject, .length = 256, .result = 256};
  op.op_flags = kOpData;
  const Outcome& read = session.perform(op);
  bool same = !read.error && read.data == trace_id;
  session.perform({.kind = OpKind::release, .object = kMarkerObject, .handle = kMarkerObject});
  return same ? Marker::same : Marker::other;
}

namespace {

class Preparation {
 public:
  Preparation(Image& image, Target& target, Clock& clock, const PrepareOptions& options, ObjectSet& known)
      : tree_(image.impl().tree), target_(target), clock_(clock), options_(options), known_(known) {}

  PrepareResult run() {
    int64_t begin = clock_.now();
    if (does(PrepareStep::contents)) make_contents();
    const PresentNames none;
    if (options_.step == PrepareStep::look_up) perform(ImageLookups(tree_, none));
    if (does(PrepareStep::seal)) perform(ImageSeal(tree_, none));
    if (does(PrepareStep::open)) perform(ImageOpens(tree_, options_.opens));
    out_.elapsed = clock_.now() - begin;
    return std::move(out_);
  }

  PrepareResult run_rest(const PresentNames& present) {
    const int64_t begin = clock_.now();
    if (options_.step == PrepareStep::look_up) {
      perform_any<ImageLookups>(tree_, present);
    } else {
      perform_any<ImageContents>(tree_, present, std::string());
      perform_any<ImageSeal>(tree_, present);
    }
    perform_any<ImageOpens>(tree_, options_.opens);
    out_.elapsed = clock_.now() - begin;
    return std::move(out_);
  }

 private:
  bool does(PrepareStep step) const { return options_.step == PrepareStep::all || options_.step == step; }

  void make_contents() {
    ReconcileResult found;
    bool marked = false;
    if (!target_.empty()) {
      marked = !options_.trace_id.empty() && find_marker(target_, clock_, options_.trace_id) == Marker::same;
      found = reconcile(tree_, target_, clock_, {marked && options_.reuse, options_.ours}, known_);
      out_.kept = found.kept;
      out_.failed = found.failed;
      if (found.failed)
        out_.failures.push_back(
            {.kind = OpKind::unlink, .name = found.first_failed, .expected = "ok", .got = strerror(found.first_error)});
    }
    perform(ImageContents(tree_, found.present, marked || !options_.marks ? std::string() : options_.trace_id));
  }

  // A run without operations costs threads and sessions.
  template <class Source, class... Arguments>
  void perform_any(const Arguments&... arguments) {
    OpBatch first;
    if (Source(arguments...).next(first)) perform(Source(arguments...));
  }

  void perform(OpSource&& source) {
    if (out_.stopped) return;
    RunOptions run_options;
    run_options.timing = Timing::asap;
    run_options.workers = options_.workers;
    run_options.inline_workers = options_.inline_workers;
    run_options.stop = options_.stop;
    run_options.known = &known_;
    run_options.mismatches = options_.described;
    // An open file belongs to the client of the thread that has it.
    run_options.clients_by = dynamic_cast<ImageOpens*>(&source) ? ClientsBy::stream : ClientsBy::any;
    uint64_t before = out_.operations;
    if (options_.progress)
      run_options.progress = [&](const Progress& p) {
        Progress sum = p;
        sum.done += before;
        options_.progress(sum);
      };
    RunResult r = fsr::run(source, target_, clock_, run_options);
    out_.operations += r.issued();
    out_.bytes += r.bytes_written;
    out_.stopped |= r.stopped;
    // Inexpressible operations do not count here, because the report of the replay counts them.
    out_.failed += r.mismatches_total;
    out_.unanswered += r.unanswered;
    for (Mismatch& m : r.mismatches)
      if (out_.failures.size() < run_options.mismatches) out_.failures.push_back(std::move(m));
  }

  const ImageTree& tree_;
  Target& target_;
  Clock& clock_;
  const PrepareOptions& options_;
  ObjectSet& known_;
  PrepareResult out_;
};

}  // namespace

void PrepareResult::add(PrepareResult&& later) {
  operations += later.operations;
  kept += later.kept;
  failed += later.failed;
  unanswered += later.unanswered;
  bytes += later.bytes;
  elapsed += later.elapsed;
  stopped |= later.stopped;
  std::ranges::move(later.failures, std::back_inserter(failures));
}

PrepareResult prepare(Image& image, Target& target, Clock& clock, const PrepareOptions& options, ObjectSet& known) {
  return Preparation(image, target, clock, options, known).run();
}

PrepareResult prepare_rest(Image& image, const PresentNames& present, Target& target, Clock& clock, const PrepareOptions& options,
                           ObjectSet& known) {
  return Preparation(image, target, clock, options, known).run_rest(present);
}

uint64_t plan_size(const Image& image) { return ImageContents::operations(image.impl().tree); }

}  // namespace fsr
