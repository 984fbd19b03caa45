// SPDX-License-Identifier: Apache-2.0
#include "import_lanes.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace fsr {

constexpr size_t kMostLanes = 4096;

void ImportLanes::assign(Op& op, int32_t owner, std::string_view command) {
  std::vector<Lane>& lanes = lanes_[owner];
  auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& l) { return l.end <= op.start; });
  if (lane == lanes.end() && lanes.size() < kMostLanes) {
    const int32_t pid = std::max(owner, 1);
    lanes.push_back({sink_.thread(pid, pid, 0, command), INT64_MIN});
    lane = lanes.end() - 1;
  } else if (lane == lanes.end()) {
    lane = std::min_element(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) { return a.end < b.end; });
  }
  lane->end = std::max(lane->end, op.end());
  op.who = lane->who;
  op.thread = op.who->id;
}

bool ImportFiles::at(std::string_view path, const Op& like, File* out) {
  auto it = open_.find(path);
  if (it == open_.end()) {
    ImportTree::Found found = tree_.find(tree_.directory(), path, true, true);
    if (found.bad || found.name.empty() || !tree_.inside(found.node ? found.node : found.parent)) return false;
    if (!found.node) found.node = tree_.make(found.parent, found.name, S_IFREG);
    Op open{.start = like.start, .kind = OpKind::open, .op_flags = kOpInferred, .thread = like.thread, .open_flags = O_RDWR};
    open.who = like.who;
    it = open_.emplace(std::string(path), File{found.node, next_handle_++}).first;
    tree_.introduce(found.node, open, sink_);
    fill(it->second, &open);
    sink_.add(open);
  }
  if (!last_.who || like.end() >= last_.end()) last_ = like;
  *out = it->second;
  return true;
}

void ImportFiles::release(const File& file, const Op& like, bool inferred) {
  Op op{.start = like.start, .kind = OpKind::release, .thread = like.thread};
  if (inferred) op.op_flags = kOpInferred;
  op.who = like.who;
  fill(file, &op);
  sink_.add(op);
}

void ImportFiles::close(std::string_view path, const Op& like, bool inferred) {
  auto it = open_.find(path);
  if (it == open_.end()) return;
  release(it->second, like, inferred);
  open_.erase(it);
}

void ImportFiles::close_all() {
  last_.start = last_.end();
  for (const auto& [path, file] : open_) release(file, last_, true);
  open_.clear();
}

}  // namespace fsr
