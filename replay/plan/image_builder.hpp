// SPDX-License-Identifier: Apache-2.0
// Finds the initial image from operations in order of effect: what each of them shows to have existed before the first one.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "plan/image_tree.hpp"

namespace fsr {

class ImageBuilder {
 public:
  ImageBuilder(ImageTree& tree, LiveState state);
  void apply(const Op& op);
  void finish();  // orders the names and counts them

 private:
  ImageObject* find(ObjectId id);
  ImageObject& object(ObjectId id, uint32_t type);
  void discovered(ObjectId parent, std::string_view name, ObjectId id, uint32_t type);
  void learn(ImageObject& o, const Attr& attr);
  void observe(const Op& op);
  void content(ImageObject& o, const Op& op);
  void data_read(ImageObject& o, uint64_t from, uint64_t to);
  void overwritten(ImageObject& o, uint64_t from, uint64_t to, bool keeps_size);
  void xattr(ImageObject& o, const Op& op);
  void handles(const Op& op);
  void place_nameless();
  void order_names();
  bool special_refused(const ImageObject& o) const;

  ImageTree& tree_;
  LiveState state_;
  size_t text_ = 0;  // bytes of names and extended attributes
  std::unordered_map<ObjectId, uint32_t> by_id_;
  std::unordered_map<uint64_t, uint32_t> by_name_;  // hash of parent and name
  std::unordered_set<HandleId> open_;
};

}  // namespace fsr
