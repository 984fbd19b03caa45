// SPDX-License-Identifier: Apache-2.0
// The operations that make an initial image, to be run as fast as possible, one source after the other:
// contents (names, data, links, xattrs), then seal (what would have hindered that: modes of directories), then opens. Where
// several processes use one tree, those that did not make it look its names up before it is sealed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "op_source.hpp"
#include "plan/image_tree.hpp"

namespace fsr {

// What of the image the target holds already: clone by clone, by index into ImageTree::names; behind all of them the clones' own
// directories.
using PresentNames = std::vector<bool>;

class ImageContents final : public OpSource {
 public:
  // Leaves out what is `present` (empty: nothing is). `marker`: content of the marker file, which is made first; empty: none.
  ImageContents(const ImageTree& tree, const PresentNames& present, std::string marker);
  bool next(OpBatch& batch) override;
  static uint64_t operations(const ImageTree& tree);  // with nothing present

 private:
  enum class Step : uint8_t { make, size, fill, extents, xattrs, attributes, close };

  Op& add(OpBatch& batch, OpKind kind);
  void make_marker(OpBatch& batch);
  void make_clone_root(OpBatch& batch);
  void emit(OpBatch& batch);
  void make(OpBatch& batch, const ImageName& name, const ImageObject& o);
  void fill(OpBatch& batch, const ImageObject& o);
  void extent(OpBatch& batch, const ImageObject& o);
  void xattr(OpBatch& batch, const ImageObject& o);
  void step_on(const ImageObject& o);
  void next_name();

  const ImageTree& tree_;
  const PresentNames& present_;
  std::string marker_;
  bool begun_ = false;
  unsigned clone_;
  size_t at_ = 0;  // name
  Step step_ = Step::make;
  uint64_t position_ = 0;  // within the step
  uint64_t seq_ = 0;
  uint64_t files_ = 0;
  size_t batch_bytes_ = 0;
};

class ImageLookups final : public OpSource {
 public:
  explicit ImageLookups(const ImageTree& tree) : tree_(tree) {}
  bool next(OpBatch& batch) override;

 private:
  const ImageTree& tree_;
  size_t at_ = 0;
};

class ImageSeal final : public OpSource {
 public:
  explicit ImageSeal(const ImageTree& tree) : tree_(tree), clone_(tree.options.clones.first) {}
  bool next(OpBatch& batch) override;

 private:
  const ImageTree& tree_;
  unsigned clone_;
  size_t at_ = 0;
  uint64_t seq_ = 0;
};

class ImageOpens final : public OpSource {
 public:
  // `opens`: whether a handle is opened here, and what has no name removed; empty: all.
  ImageOpens(const ImageTree& tree, const std::function<bool(HandleId)>& opens)
      : tree_(tree), opens_(opens), clone_(tree.options.clones.first) {}
  bool next(OpBatch& batch) override;

 private:
  const ImageTree& tree_;
  const std::function<bool(HandleId)>& opens_;
  unsigned clone_;
  uint64_t seq_ = 0;
};

}  // namespace fsr
