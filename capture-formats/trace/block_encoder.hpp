// SPDX-License-Identifier: Apache-2.0
// Packs operations into one record (the content of one zstd frame), column by column.
//
//   record   = u8 'O', u8 0, u16 0, u32 record length, u64 first seq, i64 first start (clock units), u32 rows,
//              varint columns, per column: varint number, varint length; the columns' bytes in the same order
//
// Why so: bytes per operation of captures at 1 ns, zstd -3, by tests/bench/trace_size (each group compressed by itself):
//
//              all   start  duration  names  ranges  kind  who   entries  objects  other  | reply attributes
//   git clone  4.55  1.92   1.58      0.70   0.08    0.11  0.01  0.08     0.07     0.03   | 0.48
//   make -j2   4.69  1.99   1.58      0.34   0.21    0.14  0.16  0.07     0.05     0.13   | 0.47
//   tar        4.45  1.89   1.60      0.27   0.18    0.14  0.03  0.16     0.06     0.20   | 0.82
//   sqlite     4.05  2.04   1.71      0.03   0.11    0.08  0.06  0.00     0.04     0.05   | 0.24
//
// Three quarters are noise of the clock (at 100 ns the total is 2.4 to 3.0), and names are most of the rest. So times have
// columns of bits and of classes. Every other field has an expectation, and costs nothing if its value is the expected one.
// Memory is reused from block to block. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frame.hpp"
#include "model.hpp"

namespace fsr {

constexpr uint32_t kMaxRows = 65536;       // of one block
constexpr uint32_t kMaxEntries = 1 << 20;  // readdir entries of one block

enum class RowType { whole, start, end };

// Contents of a block so far.
struct BlockFill {
  uint32_t rows = 0, entries = 0;
  size_t bytes = 0;  // of names, data and entries
};

class BlockEncoder {
 public:
  BlockEncoder(uint32_t clock_unit, bool attributes);
  ~BlockEncoder();
  BlockEncoder(const BlockEncoder&) = delete;
  BlockEncoder& operator=(const BlockEncoder&) = delete;

  void begin(uint64_t first_seq);
  // `seq` is that of the operation whose end this is, for end records only. Throws std::length_error for more data or entries
  // than a record may hold.
  void add(const Op& op, RowType type, uint64_t seq);
  // The block's header, complete but for number and compressed size, and its record; valid until begin().
  const BlockHeader& header() const;
  std::string_view record();
  // Where zstd blocks should end so that columns with different statistics do not share an entropy table: offsets into record().
  const std::vector<size_t>& borders() const;

  uint32_t rows() const { return fill_.rows; }
  uint32_t entries() const { return fill_.entries; }
  size_t raw_bytes() const { return fill_.bytes + size_t(fill_.rows) * 12; }  // about
  std::string_view column(unsigned number) const;                             // right after record()

 private:
  struct Impl;
  BlockFill fill_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
