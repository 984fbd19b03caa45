// SPDX-License-Identifier: Apache-2.0
// Sources of the operations that make an initial image. They run as fast as possible, one after the other: ImageContents (names,
// data, links, xattrs), ImageSeal (modes of directories, which would have hindered ImageContents), ImageOpens. If several
// processes use one tree, those that did not make it look up its names before it is sealed (ImageLookups).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "op_source.hpp"
#include "plan/image_tree.hpp"

namespace fsr {

// True for each name that the target holds already: clone by clone, by index into ImageTree::names. The directories of the clones
// themselves follow at the end.
using PresentNames = std::vector<bool>;

// Returns the attributes that a setattr gives an object of the image: mode, and owner and group if they are to be as recorded.
Attr image_attributes(const ImageTree& tree, const ImageObject& o);

// Returns where a symbolic link of the image leads. If it was never read, the text has the right length and leads nowhere.
std::string image_link_target(const ImageObject& o);

class ImageContents final : public OpSource {
 public:
  // Leaves out names that are `present`; empty: none is. `marker`: content of the marker file, which is made first; empty: there
  // is no marker.
  ImageContents(const ImageTree& tree, const PresentNames& present, std::string marker);
  bool next(OpBatch& batch) override;
  static uint64_t operations(const ImageTree& tree);  // number of operations if nothing is present

 private:
  enum class Step : uint8_t { make, size, fill, extents, xattrs, attributes, close };

  Op& add(OpBatch& batch, OpKind kind);
  void make_marker(OpBatch& batch);
  void make_clone_root(OpBatch& batch);
  void emit(OpBatch& batch);
  void make(OpBatch& batch, const ImageName& name, const ImageObject& o);
  bool take_over(OpBatch& batch, const ImageName& name, const ImageObject& o);
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
  size_t at_ = 0;  // index of the name
  Step step_ = Step::make;
  size_t range_ = 0;       // of ImageObject::data
  uint64_t position_ = 0;  // within the step, or the range
  uint64_t seq_ = 0;
  uint64_t files_ = 0;
  size_t batch_bytes_ = 0;
};

class ImageLookups final : public OpSource {
 public:
  ImageLookups(const ImageTree& tree, const PresentNames& known) : tree_(tree), known_(known) {}
  bool next(OpBatch& batch) override;

 private:
  const ImageTree& tree_;
  const PresentNames& known_;  // names that are left out; empty: none is
  size_t at_ = 0;
};

class ImageSeal final : public OpSource {
 public:
  ImageSeal(const ImageTree& tree, const PresentNames& sealed)
      : tree_(tree), sealed_(sealed), clone_(tree.options.clones.first) {}
  bool next(OpBatch& batch) override;

 private:
  const ImageTree& tree_;
  const PresentNames& sealed_;  // names that are left out, and the root; empty: none is
  unsigned clone_;
  size_t at_ = 0;
  uint64_t seq_ = 0;
};

class ImageOpens final : public OpSource {
 public:
  // `opens`: whether this process opens a handle; it then also unlinks the files without a name among those. Empty: it opens all.
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
