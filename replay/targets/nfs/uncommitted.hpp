// SPDX-License-Identifier: Apache-2.0
// Tracks data that was written UNSTABLE to a file and is not committed yet, so that it can be written again. If a server restarts
// before the COMMIT, it shows another write verifier and may have lost the data (RFC 1813, 3.3.7 and 3.3.21).
//
// For data that the replayer generates, only its source is kept. Other data is kept itself, within one budget for the whole
// target. Data beyond the budget can't be written again if it is lost, which is counted. Only the budget is thread-safe. NfsState
// protects the rest, together with the object that it belongs to.
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

// A budget of memory that the files of a target share, in bytes. Thread-safe.
class Budget {
 public:
  explicit Budget(uint64_t bytes) : left_(int64_t(bytes)) {}
  bool take(uint64_t bytes);
  void draw(uint64_t bytes) {
    left_.fetch_sub(int64_t(bytes), std::memory_order_relaxed);
  }  // takes bytes even if the budget is exhausted
  void give(uint64_t bytes) { left_.fetch_add(int64_t(bytes), std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> left_;
};

// Data that is kept within a budget.
class RetainedData {
 public:
  static std::shared_ptr<const RetainedData> keep(std::string_view bytes, Budget& budget);  // null: beyond the budget
  RetainedData(std::string_view bytes, Budget& budget) : bytes_(bytes), budget_(budget) {}
  ~RetainedData() { budget_.give(bytes_.size()); }
  RetainedData(const RetainedData&) = delete;
  RetainedData& operator=(const RetainedData&) = delete;
  std::string_view bytes() const { return bytes_; }

 private:
  const std::string bytes_;
  Budget& budget_;
};

// The source of a write's data: kept data, or the data that Payload generates for `object`. The byte at offset x of the file is
// at x + shift (modulo 2^64) of the source.
struct DataSource {
  bool known = false;
  std::shared_ptr<const RetainedData> kept;  // null: generated
  ObjectId object = kNoObject;
  uint64_t shift = 0;
  uint32_t principal = 0;  // Identity::principal of the user who wrote it
  bool operator==(const DataSource&) const = default;
  // Returns `size` bytes at `offset` of the file, at most Payload::kDirect. Valid as long as this source.
  std::string_view data(uint64_t offset, size_t size) const;
};

// Lost bytes [begin, end) of a file, and the number of the last write that wrote some of them.
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
  uint64_t writes() const { return writes_; }  // number of writes so far, which a COMMIT sent now covers
  // Handles the reply to an UNSTABLE write. True: the verifier shows, for the first time, that the server restarted after an
  // earlier write.
  bool wrote(uint64_t begin, uint64_t end, const DataSource& source, uint64_t verifier);
  // Drops bytes that are committed by another write or no longer exist.
  void cut(uint64_t begin, uint64_t end);
  // Handles the reply to a COMMIT of the first `upto` writes. True: it shows, for the first time, that the server restarted.
  bool committed(uint64_t upto, uint64_t verifier);
  bool has_lost() const;  // true: the server lost data that must be written again
  // Returns the first lost data in [from, upto), `most` bytes at most. It counts as being written again until wrote_again() or
  // leave(). None: no data is lost there.
  std::optional<LostData> take_lost(uint64_t from, uint64_t upto, uint64_t most);
  // Handles the reply to a piece that was written again, up to its first `bytes`. `stamp`: a number that grows with each such
  // reply.
  void wrote_again(const LostData& piece, uint64_t bytes, uint64_t verifier, uint64_t stamp);
  void leave(const LostData& piece);
  // Checks a write of these bytes when its reply arrives. `stamp`: the latest one when the write was sent. True: older data has
  // been written again there since, or still is being written, and may have replaced the write's data.
  bool raced(uint64_t begin, uint64_t end, uint64_t stamp) const;
  void lose(uint64_t begin, uint64_t end);  // marks the bytes of such a write as lost
  // True: data was lost that can't be written again. Returned once for each loss, as by fsync(2).
  bool take_unknown_loss();

  bool rewriting = false;  // a call is writing lost data again

 private:
  // Bytes that one or several writes wrote; `oldest` and `newest` are the numbers of the first and the last of them.
  struct Extent {
    uint64_t end;
    DataSource source;
    uint64_t verifier, oldest, newest;
    bool lost;
    uint64_t stamp = 0;  // stamp of the last time that it was written again; 0: never
  };
  using Extents = std::map<uint64_t, Extent>;  // by begin
  struct Unknown {                             // writes whose data was not kept
    bool pending = false, lost = false;
    uint64_t oldest = 0, newest = 0, verifier = 0;
  };
  static constexpr uint64_t kExtentCost = 48 + sizeof(Extents::value_type);  // bytes, including the map's node

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
  uint64_t verifier_ = 0;                                 // the verifier of the last reply
  uint64_t committed_stamp_ = 0;                          // latest stamp of data that was written again and then committed
  std::vector<std::pair<uint64_t, uint64_t>> under_way_;  // ranges that are being written again
  Unknown unknown_;
};

}  // namespace fsr::nfs
