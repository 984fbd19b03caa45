// SPDX-License-Identifier: Apache-2.0
#include "engine/window.hpp"

namespace fsr {

Edge EdgeList::kClosed;

// Not by recursion: an operation may wait for as many others as the window holds.
Node::Chunk::~Chunk() {
  while (next) {
    std::unique_ptr<Chunk> one = std::move(next);
    next = std::move(one->next);
  }
}

Edge& Node::add_edge() {
  uint32_t at = edges_++;
  Edge* edge;
  if (at < kInline) {
    edge = &inline_[at];
  } else {
    at = (at - kInline) % kChunk;
    if (at == 0) {
      std::unique_ptr<Chunk>& place = last_ ? last_->next : more_;
      place = std::make_unique<Chunk>();
      last_ = place.get();
    }
    edge = &last_->edges[at];
  }
  *edge = Edge{.owner = this};
  return *edge;
}

void Node::clear_edges() {
  edges_ = 0;
  more_.reset();
  last_ = nullptr;
}

Window::Window(size_t slots, size_t bytes) : slots_(slots), bytes_limit_(bytes) {}

Node* Window::take(size_t bytes) {
  // One operation always fits, whatever its size.
  if (in_use_ && bytes_ + bytes > bytes_limit_) return nullptr;
  Node* node = free_;
  if (node) {
    free_ = node->next;
  } else {
    if (made_ == slots_) return nullptr;
    if (made_ % kChunk == 0) chunks_.emplace_back(new Node[kChunk]);
    node = &at(uint32_t(made_));
    node->slot = uint32_t(made_++);
  }
  ++in_use_;
  node->next = nullptr;
  node->clear_edges();
  node->after_issue.reset();
  node->after_end.reset();
  node->due = node->base = node->ready = node->issued = node->ended = 0;
  node->anchored = node->refused = false;
  return node;
}

void Window::put_free(Node& node) {
  ++node.generation;
  bytes_ -= node.copy.extra();
  node.copy.shrink();
  if (!node.scratch.empty()) std::string().swap(node.scratch);
  --in_use_;
  node.next = free_;
  free_ = &node;
}

void Window::give_back(Node* first, Node* last) {
  last->next = returned_.load(std::memory_order_relaxed);
  while (!returned_.compare_exchange_weak(last->next, first, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace fsr
