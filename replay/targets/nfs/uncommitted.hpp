// SPDX-License-Identifier: Apache-2.0
// Data that was written UNSTABLE to a file and is not committed yet. A server that restarts before the COMMIT shows another write
// verifier and may have lost the data (RFC 1813, 3.3.7 and 3.3.21). So it must be possible to write the data again.
//
// Data that the replayer generates is remembered by where it comes from, other data is kept, within one budget for the whole
// target. Data beyond the budget can't be written again once it is lost, and is counted then. Only the budget is thread-safe:
// NfsState guards it with the object that it belongs to.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "op.hpp"

namespace fsr::nfs {

// Bytes of memory that the files of a target share. Thread-safe.
class Budget {
 public:
  explicit Budget(uint64_t bytes) : left_(int64_t(bytes)) {}
  bool take(uint64_t bytes);
  void draw(uint64_t bytes) { left_.fetch_sub(int64_t(bytes), std::memory_order_relaxed); }  // whether there is enough or not
  void give(uint64_t bytes) { left_.fetch_add(int64_t(bytes), std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> left_;
};

// Data held within a budget.
class RetainedData {
 public:
  static std::shared_ptr<const RetainedData> keep(std::string_view bytes, Budget& budget);  // nullptr: beyond the budget
  RetainedData(std::string_view bytes, Budget& budget) : bytes_(bytes), budget_(budget) {}
  ~RetainedData() { budget_.give(bytes_.size()); }
  RetainedData(const RetainedData&) = delete;
  RetainedData& operator=(const RetainedData&) = delete;
  std::string_view bytes() const { return bytes_; }

 private:
  const std::string bytes_;
  Budget& budget_;
};

// The source of a write's data. The byte at offset x of the file is the one at x + shift (modulo 2^64) of the kept data, or of
// the data that Payload generates for `object`.
struct DataSource {
  bool known = false;
  std::shared_ptr<const RetainedData> kept;  // nullptr: generated
  ObjectId object = kNoObject;
  uint64_t shift = 0;
  bool operator==(const DataSource&) const = default;
  // The `size` bytes at `offset` of the file, at most Payload::kDirect. Valid as long as this source.
  std::string_view data(uint64_t offset, size_t size) const;
};

// Bytes [begin, end) of a file, written by the write of that number.
struct LostData {
  uint64_t begin = 0, end = 0;
  DataSource source;
  uint64_t number = 0;
};

class Uncommitted {
 public:
  explicit Uncommitted(Budget& budget) : budget_(budget) {}
  ~Uncommitted() { budget_.give(counted_ * kExtentCost); }
  Uncommitted(const Uncommitted&) = delete;
  Uncommitted& operator=(const Uncommitted&) = delete;

  bool empty() const { return extents_.empty() && !unknown_.pending; }
  uint64_t writes() const { return writes_; }  // so far: what a COMMIT to be sent now will cover
  // An UNSTABLE write was answered. True: the verifier tells that the server restarted since an earlier one, for the first time.
  bool wrote(uint64_t begin, uint64_t end, const DataSource& source, uint64_t verifier);
  // The bytes are committed by another write, or are gone.
  void cut(uint64_t begin, uint64_t end);
  // A COMMIT of the first `upto` writes was answered. True: it tells that the server restarted, for the first time.
  bool committed(uint64_t upto, uint64_t verifier);
  bool has_lost() const;  // something that the server lost and is to be written again
  // The first of it in [from, upto), `most` bytes of that at most. It is under way then, until wrote_again() or leave().
  std::optional<LostData> take_lost(uint64_t from, uint64_t upto, uint64_t most);
  // Its first `bytes` were written. `stamp` tells when: stamps grow from one such answer to the next.
  void wrote_again(const LostData& piece, uint64_t bytes, uint64_t verifier, uint64_t stamp);
  void leave(const LostData& piece);
  // A write of these bytes is answered that was sent when `stamp` was the latest. True: older data was written again there
  // meanwhile, or still is, and may have come after it. To be asked at once with what the answer tells.
  bool raced(uint64_t begin, uint64_t end, uint64_t stamp) const;
  void lose(uint64_t begin, uint64_t end);  // what such a write left there is to be written again
  // Something was lost that can't be written again. Told once, as an fsync does.
  bool take_unknown_loss();

  bool rewriting = false;  // somebody writes again what is lost

 private:
  struct Extent {
    uint64_t end;
    DataSource source;
    uint64_t verifier, number;
    bool lost;
    uint64_t stamp = 0;  // of its being written again, 0 = never was
  };
  using Extents = std::map<uint64_t, Extent>;  // by their begin
  struct Unknown {                             // writes whose data can't be had again
    bool pending = false, lost = false;
    uint64_t number = 0, verifier = 0;
  };
  static constexpr uint64_t kExtentCost = 48 + sizeof(Extents::value_type);  // bytes, with the tree's node

  Extents::const_iterator first_behind(uint64_t at) const;
  void split(uint64_t at);
  Extents::iterator remove(uint64_t begin, uint64_t end);
  void join_previous(Extents::iterator it);
  bool suspect(uint64_t upto, uint64_t verifier);
  void settle();

  Budget& budget_;
  Extents extents_;
  size_t counted_ = 0;  // extents that the budget has paid for
  uint64_t writes_ = 0;
  uint64_t verifier_ = 0;                                 // the last one told
  uint64_t committed_stamp_ = 0;                          // the latest of what was written again and committed then
  std::vector<std::pair<uint64_t, uint64_t>> under_way_;  // ranges that are being written again
  Unknown unknown_;
};

}  // namespace fsr::nfs
