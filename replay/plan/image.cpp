// SPDX-License-Identifier: Apache-2.0
#include "plan/image.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <queue>

#include "plan/image_builder.hpp"
#include "plan/linearizer.hpp"
#include "plan/trace_split.hpp"
#include "util/object_set.hpp"

namespace fsr {

namespace {

// Passes operations on, in start order, and counts them.
class Census final : public OpSource {
 public:
  Census(OpSource& source, const ImageOptions& options, ImageSummary& summary, const std::function<void(int64_t)>& progress)
      : source_(source), options_(options), summary_(summary), progress_(progress) {}

  bool next(OpBatch& batch) override {
    if (!source_.next(batch)) return false;
    for (const Op& op : batch.ops)
      if (op.start >= options_.from && op.start < options_.to) count(op);
    if (progress_ && !batch.ops.empty()) progress_(batch.ops.back().start);
    return true;
  }

 private:
  void count(const Op& op) {
    if (summary_.operations++ == 0) summary_.first = op.start;
    ++summary_.by_kind[unsigned(op.kind)];
    summary_.last = op.start;
    summary_.timed |= op.duration > 0;
    summary_.last_end = std::max(summary_.last_end, op.end());
    summary_.streams += threads_.insert(op.thread);
    while (!ends_.empty() && ends_.top() <= op.start) ends_.pop();
    ends_.push(op.has(kOpUnfinished) ? INT64_MAX : op.end());
    summary_.max_in_flight = std::max<uint64_t>(summary_.max_in_flight, ends_.size());
  }

  OpSource& source_;
  const ImageOptions& options_;
  ImageSummary& summary_;
  const std::function<void(int64_t)>& progress_;
  ObjectSet threads_;
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> ends_;
};

}  // namespace

Image::Image() = default;
Image::~Image() = default;
Image::Image(Image&&) noexcept = default;
Image& Image::operator=(Image&&) noexcept = default;

Image Image::analyze(OpSource& source, LiveState state, const ImageOptions& options, const std::function<void(int64_t)>& progress,
                     SplitSurvey* survey) {
  Image image;
  image.impl_ = std::make_unique<Impl>();
  ImageTree& tree = image.impl_->tree;
  tree.options = options;
  tree.next_object = std::max(tree.next_object, options.first_free);
  tree.next_handle = std::max(tree.next_handle, options.first_free);
  Census census(source, tree.options, tree.summary, progress);
  Linearizer order(census, options.from, options.to);
  if (survey) survey->begin(state);
  ImageBuilder builder(tree, std::move(state));
  while (const Op* op = order.next()) {
    if (survey) survey->add(*op, order);
    builder.apply(*op);
  }
  builder.finish();
  return image;
}

Image Image::of(const std::function<void(ImageTree&)>& fill) {
  Image image;
  image.impl_ = std::make_unique<Impl>();
  ImageTree& tree = image.impl_->tree;
  ImageObject& root = tree.objects.emplace_back();
  root.id = kRootObject;
  root.type = S_IFDIR;
  fill(tree);
  tree.count();
  return image;
}

const ImageSummary& Image::summary() const { return impl_->tree.summary; }

}  // namespace fsr
