// SPDX-License-Identifier: Apache-2.0
#include "engine/window.hpp"

#include <algorithm>
#include <string>

#include "util/check.hpp"

namespace fsr {

Edge EdgeList::kClosed;

// Destroys the chain without recursion, because an operation may wait for as many others as the window holds.
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
  if (!more_) return;
  more_.reset();
  last_ = nullptr;
}

Window::Window(size_t slots, size_t bytes, size_t first) : slots_(slots), bytes_limit_(bytes), limit_(std::min(slots, first)) {}

bool Window::grow() {
  if (limit_ == slots_) return false;
  limit_ = std::min(slots_, limit_ * 2);
  return true;
}

Node* Window::take(size_t bytes) {
  if (in_use_ == limit_) return nullptr;
  // One operation always fits, even if it is larger than the limit.
  if (in_use_ && bytes_ + bytes > bytes_limit_) return nullptr;
  Node* node = free_;
  if (node) {
    free_ = node->next;
    // The next node is in the cache of the core whose worker wrote it last.
    if (free_)
      for (size_t line = 0; line < sizeof(Node); line += 64) __builtin_prefetch(reinterpret_cast<char*>(free_) + line, 1);
  } else {
    if (made_ % kChunk == 0) chunks_.emplace_back(new Node[kChunk]);
    node = &at(uint32_t(made_));
    node->slot = uint32_t(made_++);
  }
  FSR_CHECK(node->pending.load(std::memory_order_relaxed) == 0,
            "operation in slot " + std::to_string(node->slot) + " still waits");
  FSR_CHECK(node->slot < made_ && &at(node->slot) == node, "slot " + std::to_string(node->slot));
  ++in_use_;
  node->next = nullptr;
  node->clear_edges();
  node->after_issue.reset();
  node->after_end.reset();
  node->due = node->base = node->ready = node->lag = 0;
  node->issued = node->ended = -1;
  node->anchored = node->refused = node->large = false;
  return node;
}

void Window::put_free(Node& node) {
  FSR_CHECK(in_use_ > 0, "more operations are given back than were taken");
  FSR_CHECK(node.issued >= 0 && node.ended >= node.issued, "an operation is given back that has not ended");
  ++node.generation;
  if (node.large) {
    FSR_CHECK(bytes_ >= node.copy.extra(), std::to_string(bytes_) + " bytes");
    bytes_ -= node.copy.extra();
    node.copy.shrink();
    std::string().swap(node.scratch);
  }
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
