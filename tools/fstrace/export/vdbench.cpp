// SPDX-License-Identifier: Apache-2.0
// Writes a parameter file of vdbench with the shape of a trace: shares of operations, sizes of requests and files, sequential
// share, rate and threads. Its rules are those of the Vdbench Users Guide 5.04.07: a FSD, a FWD for each operation, one RD.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include "format.hpp"
#include "percents.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

constexpr size_t kMostTransferSizes = 16;  // of requests of one kind
constexpr size_t kFileSizes = 10;          // sizes of files, each for as many of them
constexpr uint64_t kFiles = 100;           // in a directory
constexpr uint64_t kFilesEach = 4;         // at least, for a thread
constexpr uint64_t kRequestUnit = 512;     // bytes, the unit of requests

// One FWD.
enum Work : unsigned { kReadOn, kReadAt, kWriteOn, kWriteAt, kGetattr, kSetattr, kAccess, kOpen, kCreate, kDelete, kWorks };
constexpr struct {
  const char *operation, *more;
} kFwd[kWorks] = {
    {"read", ",fileio=sequential"},
    {"read", ",fileio=random"},
    {"write", ",fileio=sequential"},
    {"write", ",fileio=random"},
    {"getattr", ""},
    {"setattr", ""},
    {"access", ""},
    {"open", ""},
};

class Vdbench final : public ExportFormat {
 public:
  explicit Vdbench(const TraceHeader& header) : id_(header.id) {}

  Exported add(fmt::memory_buffer&, const Op& op, const Paths&) override {
    switch (op.kind) {
      case OpKind::read:
        return data(op, kReadOn);
      case OpKind::write:
        return data(op, kWriteOn);
      case OpKind::getattr:
      case OpKind::statx:
        return count(op, kGetattr);
      case OpKind::setattr:
        return count(op, kSetattr);
      case OpKind::access:
        return count(op, kAccess);
      case OpKind::open:
        return count(op, kOpen);
      case OpKind::lookup:
      case OpKind::flush:
      case OpKind::release:
        return Exported::unneeded;
      default:
        return Exported::no;
    }
  }

  void end(fmt::memory_buffer& out) override {
    std::vector<std::pair<Work, uint64_t>> counts;
    uint64_t whole = 0;
    for (unsigned work = 0; work < kWorks; ++work)
      if (counts_[work]) counts.emplace_back(Work(work), counts_[work]), whole += counts_[work];
    if (whole == 0) return;
    const double seconds = std::max(1e-3, double(last_ - first_) / 1e9);
    const auto percents = whole_percents(counts);
    // At least one for each FWD, which is what vdbench gives.
    const uint64_t threads = std::max<uint64_t>(percents.size(), uint64_t(std::llround(busy_ / 1e9 / seconds)));
    comments(out);
    structure(out, threads);
    for (const auto& [work, percent] : percents)
      put(out, "fwd=fwd{},fsd=fsd1,operation={}{}{},fileselect=random,skew={},threads={}\n", unsigned(work), kFwd[work].operation,
          work <= kWriteAt ? ",xfersize=" + sizes(sizes_[work]) : "", kFwd[work].more, percent,
          std::max<uint64_t>(1, threads * percent / 100));
    const auto elapsed = std::max<uint64_t>(2, uint64_t(std::llround(seconds)));
    put(out, "rd=rd1,fwd=fwd*,fwdrate={},format=yes,elapsed={},interval=1\n",
        std::max<uint64_t>(1, uint64_t(std::llround(double(whole) / seconds))), elapsed);
  }

 private:
  template <class... Args>
  static void put(fmt::memory_buffer& out, fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
  }

  Exported count(const Op& op, Work work) {
    if (op.error || op.has(kOpUnfinished)) return Exported::no;
    if (first_ == INT64_MIN) first_ = op.start;
    last_ = std::max(last_, op.end());
    busy_ += double(op.duration);
    ++counts_[work];
    return Exported::whole;
  }

  // `on`: the FWD of requests that go on where the last one on the open file ended; the next FWD has the others.
  Exported data(const Op& op, Work on) {
    if (op.result == 0) return Exported::no;
    uint64_t& next = positions_[op.handle];
    const Work work = op.offset == next ? on : Work(on + 1);
    const Exported done = count(op, work);
    if (done == Exported::no) return done;
    ++sizes_[work][(op.result + kRequestUnit - 1) / kRequestUnit * kRequestUnit];
    next = op.offset + op.result;
    uint64_t& end = files_[op.object];
    end = std::max(end, next);
    return done;
  }

  static std::string sizes(const std::map<uint64_t, uint64_t>& counts) {
    std::vector<std::pair<uint64_t, uint64_t>> most(counts.begin(), counts.end());
    std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    if (most.size() > kMostTransferSizes) most.resize(kMostTransferSizes);
    std::string text;
    for (const auto& [size, percent] : whole_percents(most))
      text += fmt::format("{}{},{}", text.empty() ? "(" : ",", size, percent);
    return text + ")";
  }

  void comments(fmt::memory_buffer& out) const {
    put(out, "* The shape of trace {}: {} files in {}.\n", id_, format_count(files_.size()), format_duration(last_ - first_));
    put(out,
        "* Lost: which file and offset each operation was for, order, bursts and pauses, syncs, whatever works on names and\n");
    put(out, "* directories, extended attributes, locks, and what failed. Sizes of requests are rounded up to 512 bytes.\n");
    put(out, "* To run it: vdbench -f THIS-FILE anchor=DIRECTORY\n");
  }

  void structure(fmt::memory_buffer& out, uint64_t threads) const {
    // vdbench uses a file by one thread at a time.
    const uint64_t files = std::max<uint64_t>(kFilesEach * threads, files_.size()), width = (files + kFiles - 1) / kFiles;
    put(out, "fsd=fsd1,anchor=$anchor,depth=1,width={},files={},sizes={}\n", width, (files + width - 1) / width, file_sizes());
  }

  std::string file_sizes() const {
    std::vector<uint64_t> ends;
    for (const auto& [object, end] : files_) ends.push_back(end);
    if (ends.empty()) ends.push_back(0);
    std::sort(ends.begin(), ends.end());
    std::map<uint64_t, uint64_t> sizes;
    for (size_t i = 0; i < kFileSizes; ++i) ++sizes[std::max(kRequestUnit, ends[(2 * i + 1) * ends.size() / (2 * kFileSizes)])];
    std::string text;
    for (const auto& [size, n] : sizes) text += fmt::format("{}{},{}", text.empty() ? "(" : ",", size, n * 100 / kFileSizes);
    return text + ")";
  }

  const std::string id_;
  std::array<uint64_t, kWorks> counts_{};
  std::array<std::map<uint64_t, uint64_t>, kWriteAt + 1> sizes_;  // bytes: how many
  int64_t first_ = INT64_MIN, last_ = INT64_MIN;
  double busy_ = 0;                                   // ns under way, sum
  std::unordered_map<HandleId, uint64_t> positions_;  // where the latest one on an open file ended
  std::unordered_map<ObjectId, uint64_t> files_;      // how far each was read or written
};

}  // namespace

const Exporter kVdbenchExporter = {
    "vdbench", "a parameter file of vdbench with the shape of the trace",
    [](const TraceHeader& header) -> std::unique_ptr<ExportFormat> { return std::make_unique<Vdbench>(header); }};

}  // namespace fsr::fstrace
