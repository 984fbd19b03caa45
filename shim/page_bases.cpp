// SPDX-License-Identifier: Apache-2.0
#include "page_bases.hpp"

#include <algorithm>
#include <cstring>

namespace fsr::shim {

namespace {

bool all_zero(const char* data, size_t bytes) { return bytes == 0 || (data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0); }

}  // namespace

// Sets the base of one page. `bytes`: size of the data; zeros follow to the end of the page.
void PageBases::set(Key key, const char* data, size_t bytes) {
  auto [at, fresh] = bases_.try_emplace(key);
  Base& base = at->second;
  if (fresh)
    base.recent = recent_.insert(recent_.begin(), key);
  else
    recent_.splice(recent_.begin(), recent_, base.recent);
  if (all_zero(data, bytes)) {
    base.bytes.reset();
  } else {
    if (!base.bytes) base.bytes.reset(new char[kPage]);
    memcpy(base.bytes.get(), data, bytes);
    memset(base.bytes.get() + bytes, 0, kPage - bytes);
  }
  if (bases_.size() <= most_pages_) return;
  bases_.erase(recent_.back());
  recent_.pop_back();
}

void PageBases::given(uint64_t node, uint64_t offset, const char* data, size_t bytes, size_t asked) {
  std::lock_guard lock(mutex_);
  for (size_t at = 0; at < asked; at += kPage)
    set({node, (offset + at) / kPage}, data + std::min(at, bytes), std::min(bytes - std::min(at, bytes), kPage));
}

std::vector<PageBases::Run> PageBases::stored(uint64_t node, uint64_t offset, const char* data, size_t bytes) {
  static constexpr char kZeros[kPage] = {};
  std::vector<Run> runs;
  std::lock_guard lock(mutex_);
  for (size_t at = 0, length; at < bytes; at += length) {
    const size_t in_page = (offset + at) % kPage;
    length = std::min(kPage - in_page, bytes - at);
    const auto base = bases_.find({node, (offset + at) / kPage});
    if (base == bases_.end()) {
      missing_.fetch_add(1, std::memory_order_relaxed);
      runs.push_back({at, length});
      continue;
    }
    const char *old = (base->second.bytes ? base->second.bytes.get() : kZeros) + in_page, *now = data + at;
    if (memcmp(old, now, length) == 0) continue;
    for (size_t i = 0; i < length; ++i) {
      if (old[i] == now[i]) continue;
      if (!runs.empty() && runs.back().at + runs.back().length == at + i)
        ++runs.back().length;
      else
        runs.push_back({at + i, 1});
    }
  }
  return runs;
}

void PageBases::written(uint64_t node, uint64_t offset, const char* data, size_t bytes) {
  std::lock_guard lock(mutex_);
  for (size_t at = 0; at < bytes; at += kPage) set({node, (offset + at) / kPage}, data + at, std::min(kPage, bytes - at));
}

// A page without a base gets one only if it is whole: the kernel reads it again after only a part was written.
void PageBases::changed(uint64_t node, uint64_t offset, const char* data, size_t bytes) {
  std::lock_guard lock(mutex_);
  for (size_t at = 0, length; at < bytes; at += length) {
    const size_t in_page = (offset + at) % kPage;
    length = std::min(kPage - in_page, bytes - at);
    const auto base = bases_.find({node, (offset + at) / kPage});
    if (length == kPage) {
      set({node, (offset + at) / kPage}, data + at, kPage);
    } else if (base != bases_.end()) {
      std::unique_ptr<char[]>& old = base->second.bytes;
      if (!old) old.reset(new char[kPage]());
      memcpy(old.get() + in_page, data + at, length);
    }
  }
}

void PageBases::zeroed(uint64_t node, uint64_t from, uint64_t to) {
  std::lock_guard lock(mutex_);
  auto at = bases_.lower_bound({node, from / kPage});
  while (at != bases_.end() && at->first.node == node && at->first.page * kPage < to) {
    const uint64_t start = at->first.page * kPage, first = std::max(from, start), last = std::min(to, start + kPage);
    if (first == start && last == start + kPage) {
      recent_.erase(at->second.recent);
      at = bases_.erase(at);
      continue;
    }
    if (at->second.bytes) memset(at->second.bytes.get() + (first - start), 0, last - first);
    ++at;
  }
}

}  // namespace fsr::shim
