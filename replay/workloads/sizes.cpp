// SPDX-License-Identifier: Apache-2.0
#include "workloads/sizes.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/reader.hpp"

namespace fsr {

namespace {

constexpr uint64_t kKiB = 1024, kBlock = 8192;

class Nhfsstone final : public SizeModel {
 public:
  uint64_t file(Random& random) const override { return write(random).length; }
  CallSizes read(Random&) const override { return {.length = kBlock, .block = kBlock, .whole = true}; }
  CallSizes write(Random& random) const override {
    const uint64_t percent = random.below(100);
    if (percent < 50) return {.length = kKiB * random.between(1, 3), .block = kKiB};
    return {.length = kBlock * (percent < 97 ? random.between(1, 6) : 32), .block = kBlock};
  }
  uint64_t longest() const override { return 32 * kBlock; }
};

struct Share {
  unsigned percent;
  uint64_t value;
};

uint64_t draw(std::span<const Share> table, Random& random) {
  uint64_t left = random.below(100);
  for (const Share& s : table) {
    if (left < s.percent) return s.value;
    left -= s.percent;
  }
  return table.back().value;
}

class Sfs final : public SizeModel {
 public:
  uint64_t file(Random& random) const override { return kKiB * draw(kFiles, random); }
  CallSizes read(Random& random) const override {
    const uint64_t blocks = draw(kReads, random);
    return blocks == 1 ? CallSizes{.length = kBlock, .block = kBlock} : transfer(blocks, random);
  }
  CallSizes write(Random& random) const override { return transfer(draw(kWrites, random), random); }
  uint64_t longest() const override { return 16 * kBlock + 7 * kKiB; }

 private:
  static CallSizes transfer(uint64_t blocks, Random& random) {
    return {.length = blocks * kBlock + kKiB * random.between(1, 7), .block = kBlock};
  }
  static constexpr Share kFiles[] = {{33, 1}, {21, 2}, {13, 4},  {10, 8},  {8, 16},
                                     {5, 32}, {4, 64}, {3, 128}, {2, 256}, {1, 1024}};
  static constexpr Share kReads[] = {{85, 1}, {8, 2}, {4, 4}, {2, 8}, {1, 16}};
  static constexpr Share kWrites[] = {{49, 0}, {36, 1}, {8, 2}, {4, 4}, {2, 8}, {1, 16}};
};

// Keeps a fair sample of the values passed to add(), however many (reservoir sampling, Vitter's algorithm R).
class Sample {
 public:
  void add(uint64_t value) {
    if (values_.size() < kMost)
      values_.push_back(value);
    else if (uint64_t at = random_.below(seen_ + 1); at < kMost)
      values_[at] = value;
    ++seen_;
  }
  bool empty() const { return values_.empty(); }
  uint64_t draw(Random& random) const { return values_[random.below(values_.size())]; }
  uint64_t max() const { return values_.empty() ? 0 : *std::max_element(values_.begin(), values_.end()); }

 private:
  static constexpr size_t kMost = 65536;
  std::vector<uint64_t> values_;
  uint64_t seen_ = 0;
  Random random_{1};
};

class OfTrace final : public SizeModel {
 public:
  explicit OfTrace(const std::string& path) {
    TraceReader trace(path);
    std::unordered_map<ObjectId, uint64_t> files;  // largest size seen of each file
    OpBatch batch;
    while (trace.next(batch))
      for (const Op& op : batch.ops) {
        if (op.error) continue;
        if (op.attr && (op.attr->valid & kAttrSize) && (op.attr->valid & kAttrMode) && S_ISREG(op.attr->mode))
          seen(files, op.object, op.attr->size);
        if ((op.kind != OpKind::read && op.kind != OpKind::write) || op.result == 0) continue;
        seen(files, op.object, op.offset + op.result);
        (op.kind == OpKind::read ? reads_ : writes_).add(std::min(op.result, kMostTransfer));
      }
    if (files.empty()) throw std::runtime_error(path + ": expected operations that show sizes of files, found none");
    // Sort by id, because the order of an unordered_map is undefined.
    std::vector<std::pair<ObjectId, uint64_t>> ordered(files.begin(), files.end());
    std::sort(ordered.begin(), ordered.end());
    for (const auto& [object, size] : ordered) files_.add(std::clamp<uint64_t>(size, 1, kMostFile));
    // If the trace has only reads, writes get their sizes, and the other way round.
    if (reads_.empty()) reads_ = writes_;
    if (writes_.empty()) writes_ = reads_;
    if (reads_.empty()) reads_.add(kBlock), writes_.add(kBlock);
    longest_ = std::max(reads_.max(), writes_.max());
  }
  uint64_t file(Random& random) const override { return files_.draw(random); }
  CallSizes read(Random& random) const override { return one(reads_.draw(random)); }
  CallSizes write(Random& random) const override { return one(writes_.draw(random)); }
  uint64_t longest() const override { return longest_; }

 private:
  static constexpr uint64_t kMostTransfer = 1 << 20, kMostFile = 1ull << 30;
  static void seen(std::unordered_map<ObjectId, uint64_t>& files, ObjectId object, uint64_t size) {
    uint64_t& most = files[object];
    most = std::max(most, size);
  }
  static CallSizes one(uint64_t length) { return {.length = length, .block = uint32_t(length)}; }

  Sample files_, reads_, writes_;
  uint64_t longest_ = 0;
};

}  // namespace

std::shared_ptr<const SizeModel> size_model(const std::string& name) {
  if (name == "nhfsstone") return std::make_shared<Nhfsstone>();
  if (name == "sfs") return std::make_shared<Sfs>();
  return std::make_shared<OfTrace>(name);
}

}  // namespace fsr
