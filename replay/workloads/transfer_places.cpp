// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer_places.hpp"

#include <algorithm>
#include <cmath>

namespace fsr {

namespace {

constexpr size_t kMostRecent = kOpenFiles;  // files in which sequential transfers may go on
constexpr double kMostInRun = 512;          // transfers for which a run has space; one more jump in so many does not matter
// Bytes of a run above which kEnoughInRun transfers must be enough, because the file has to be made.
constexpr double kMostRunBytes = 32 << 20;
constexpr double kEnoughInRun = 128;
constexpr double kRunsAtOnce = 4;             // runs of average length that a file has space for
constexpr int kAttempts = 16;                 // attempts to find another position
constexpr uint64_t kAligned = 4096;           // bytes; larger transfers begin at multiples of this
constexpr double kStep = 0.6180339887498949;  // golden ratio; its multiples fill 0..1 evenly, however many there are

const std::vector<SizeWeight>& or_else(const std::vector<SizeWeight>& sizes, const std::vector<SizeWeight>& others) {
  return sizes.empty() ? others : sizes;
}

// Returns the bytes of the sequential transfers that follow one that is not sequential.
uint64_t run_bytes(const TransferTraits& traits) {
  double bytes = 0, weight = 0;
  for (const SizeWeight& size : traits.sequential_sizes) {
    bytes += double(size.bytes) * size.weight;
    weight += size.weight;
  }
  if (weight == 0 || traits.sequential == 0) return 0;
  const double mean = bytes / weight;
  const double most = std::clamp(kMostRunBytes / std::max(1.0, mean), kEnoughInRun, kMostInRun);
  const double transfers = traits.sequential < 1 ? kRunsAtOnce * traits.sequential / (1 - traits.sequential) : most;
  return uint64_t(std::ceil(std::min(most, std::ceil(transfers)) * mean));
}

uint64_t largest(const std::vector<SizeWeight>& sizes) {
  uint64_t most = 0;
  for (const SizeWeight& size : sizes) most = std::max(most, size.bytes);
  return most;
}

}  // namespace

uint64_t longest_run(const TransferTraits& traits) {
  return run_bytes(traits) + 2 * std::max(largest(traits.sizes), largest(traits.sequential_sizes));
}

TransferPlaces::Sizes::Sizes(const std::vector<SizeWeight>& sizes, double from) : at_(from) {
  double sum = 0;
  for (const SizeWeight& size : sizes) up_to_.emplace_back(sum += size.weight, size.bytes);
  for (auto& [share, bytes] : up_to_) share /= sum;
  draw();
}

void TransferPlaces::Sizes::draw() {
  at_ += kStep;
  at_ -= std::floor(at_);
  const auto found =
      std::upper_bound(up_to_.begin(), up_to_.end(), at_, [](double at, const auto& size) { return at < size.first; });
  next_ = (found == up_to_.end() ? up_to_.back() : *found).second;
}

TransferPlaces::TransferPlaces(const TransferTraits& traits, const StreamFiles& files, TransferPositions& positions,
                               Random random)
    : run_(run_bytes(traits)),
      files_(files),
      positions_(positions),
      random_(random),
      dealer_(std::vector{1 - traits.sequential, traits.sequential}, Random(random_.next())),
      sizes_(or_else(traits.sizes, traits.sequential_sizes), random_.unit()),
      sequential_sizes_(or_else(traits.sequential_sizes, traits.sizes), random_.unit()) {}

std::optional<uint32_t> TransferPlaces::going_on(uint64_t bytes) const {
  for (uint32_t i = 0; i < recent_.size(); ++i) {
    const uint32_t file = recent_[i];
    const uint64_t size = files_.files[file].size, at = positions_[file];
    if (bytes ? at + bytes <= size : at >= size) return i;
  }
  return std::nullopt;
}

// Returns a file with at least `least` bytes. If there is none, the largest one.
uint32_t TransferPlaces::any_of(uint64_t least) {
  const std::vector<uint32_t>& by_size = files_.by_size;
  auto from = std::lower_bound(by_size.begin(), by_size.end(), least,
                               [&](uint32_t file, uint64_t bytes) { return files_.files[file].size < bytes; });
  if (from == by_size.end()) --from;
  return from[ptrdiff_t(random_.below(uint64_t(by_size.end() - from)))];
}

// Chooses a transfer that is not sequential. If the next sequential transfer would find no space, or no end of a file, chooses
// one that makes it possible.
TransferPlaces::TransferRange TransferPlaces::jump(uint64_t bytes) {
  const uint64_t next = sequential_sizes_.next();
  const bool there = going_on(next).has_value();
  const uint64_t behind = !there && next && bytes ? std::max(run_, next) : 0;
  const bool to_the_end = bytes == 0 || (!there && next == 0);
  TransferRange place;
  // Avoid the position where the last transfer ended, because this transfer would be sequential there.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    place = {.file = any_of(bytes + behind), .at = 0, .bytes = bytes};
    const uint64_t size = files_.files[place.file].size, room = size - std::min(size, bytes + behind);
    const uint64_t step = std::min(std::max<uint64_t>(1, bytes), kAligned);
    place.at = to_the_end ? size - std::min(size, bytes) : random_.below(room / step + 1) * step;
    if (place.at != positions_[place.file]) break;
    if (bytes == 0) {  // further behind the end, a read returns no data, too
      place.at += kAligned;
      break;
    }
  }
  return place;
}

TransferPlaces::TransferRange TransferPlaces::next() {
  const unsigned index = dealer_.deal([&](unsigned c) { return c == 0 || going_on(sequential_sizes_.next()); }).value_or(0);
  TransferRange place;
  if (index == 1) {
    place.bytes = sequential_sizes_.next();
    place.file = recent_[*going_on(place.bytes)];
    place.at = positions_[place.file];
    sequential_sizes_.draw();
  } else {
    place = jump(sizes_.next());
    sizes_.draw();
  }
  positions_[place.file] = place.at + place.bytes;
  used(place.file);
  return place;
}

void TransferPlaces::used(uint32_t file) {
  auto at = std::find(recent_.begin(), recent_.end(), file);
  if (at == recent_.end()) {
    if (recent_.size() == kMostRecent) recent_.pop_back();
    at = recent_.insert(recent_.end(), file);
  }
  std::rotate(recent_.begin(), at, at + 1);
}

}  // namespace fsr
