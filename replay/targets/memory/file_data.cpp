// SPDX-License-Identifier: Apache-2.0
#include "file_data.hpp"

#include <algorithm>

namespace fsr {

void FileData::read(uint64_t offset, uint64_t length, std::string& out) const {
  if (offset >= size_) return;
  length = std::min(length, size_ - offset);
  size_t base = out.size();
  out.resize(base + length);  // filled with zeros
  uint64_t end = offset + length;
  for (auto it = chunks_.lower_bound(offset / kChunk); it != chunks_.end() && it->first * kChunk < end; ++it) {
    uint64_t at = it->first * kChunk;
    uint64_t from = std::max(offset, at), to = std::min(end, at + it->second.size());
    if (from < to) it->second.copy(out.data() + base + (from - offset), to - from, from - at);
  }
}

void FileData::write(uint64_t offset, std::string_view bytes) {
  size_ = std::max(size_, offset + bytes.size());
  while (!bytes.empty()) {
    std::string& chunk = chunks_[offset / kChunk];
    size_t within = size_t(offset % kChunk), n = std::min<size_t>(bytes.size(), kChunk - within);
    if (chunk.size() < within + n) chunk.resize(within + n);
    chunk.replace(within, n, bytes.substr(0, n));
    bytes.remove_prefix(n);
    offset += n;
  }
}

void FileData::truncate(uint64_t size) {
  if (size < size_) {
    chunks_.erase(chunks_.lower_bound((size + kChunk - 1) / kChunk), chunks_.end());
    if (auto last = chunks_.find(size / kChunk); last != chunks_.end())
      last->second.resize(std::min<size_t>(last->second.size(), size_t(size % kChunk)));
  }
  size_ = size;
}

void FileData::punch(uint64_t offset, uint64_t length) {
  if (offset >= size_) return;
  uint64_t end = offset + std::min(length, size_ - offset);
  for (auto it = chunks_.lower_bound(offset / kChunk); it != chunks_.end() && it->first * kChunk < end;) {
    uint64_t at = it->first * kChunk;
    uint64_t from = std::max(offset, at), to = std::min(end, at + kChunk);
    if (from == at && (to == at + kChunk || to == size_)) {
      it = chunks_.erase(it);
      continue;
    }
    std::string& chunk = it->second;
    if (from - at < chunk.size()) {
      size_t n = size_t(std::min<uint64_t>(to - at, chunk.size()) - (from - at));
      chunk.replace(size_t(from - at), n, n, '\0');
    }
    ++it;
  }
}

void FileData::shift(uint64_t from, uint64_t to) {
  std::map<uint64_t, std::string> moved;
  for (auto it = chunks_.lower_bound(from / kChunk); it != chunks_.end(); ++it)
    moved.emplace(it->first - from / kChunk + to / kChunk, std::move(it->second));
  chunks_.erase(chunks_.lower_bound(std::min(from, to) / kChunk), chunks_.end());
  chunks_.merge(moved);
  size_ = size_ - from + to;
}

bool FileData::seek_data(uint64_t offset, uint64_t* found) const {
  auto it = chunks_.lower_bound(offset / kChunk);
  if (offset >= size_ || it == chunks_.end() || it->first * kChunk >= size_) return false;
  *found = std::max(offset, it->first * kChunk);
  return true;
}

bool FileData::seek_hole(uint64_t offset, uint64_t* found) const {
  if (offset >= size_) return false;
  uint64_t chunk = offset / kChunk;
  for (auto it = chunks_.lower_bound(chunk); it != chunks_.end() && it->first == chunk; ++it) ++chunk;
  *found = std::clamp(chunk * kChunk, offset, size_);
  return true;
}

}  // namespace fsr
