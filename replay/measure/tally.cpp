// SPDX-License-Identifier: Apache-2.0
#include "measure/tally.hpp"

#include <bit>
#include <stdexcept>

#include "trace/bytes.hpp"

namespace fsr {

void KindCounters::add(const Sample& sample) {
  if (sample.failed) {
    ++failed;
    return;
  }
  ++count;
  bytes += sample.bytes;
  const double took = double(sample.to - sample.from);
  squares += took * took;
  service.add(sample.to - sample.from);
  response.add(sample.to - sample.due);
  if (sample.recorded >= 0) recorded.add(sample.recorded);
}

void KindCounters::merge(const KindCounters& other) {
  count += other.count;
  failed += other.failed;
  bytes += other.bytes;
  squares += other.squares;
  service.merge(other.service);
  response.merge(other.response);
  recorded.merge(other.recorded);
}

KindCounters& Tally::at(Row row) {
  if (row >= cells_.size()) cells_.resize(row + 1);
  return cells_[row];
}

const KindCounters& Tally::operator[](Row row) const {
  static const KindCounters empty;
  return row < cells_.size() ? cells_[row] : empty;
}

void Tally::merge(const Tally& other) {
  for (Row row = 0; row < other.rows(); ++row) at(row).merge(other.cells_[row]);
}

std::string Tally::save() const {
  ByteWriter out;
  out.varint(rows());
  for (const KindCounters& cell : cells_) {
    out.varint(cell.count);
    out.varint(cell.failed);
    out.varint(cell.bytes);
    out.u64(std::bit_cast<uint64_t>(cell.squares));
    cell.service.save(out);
    cell.response.save(out);
    cell.recorded.save(out);
  }
  return std::string(out.view());
}

Tally Tally::load(std::string_view saved) {
  ByteReader in(saved);
  Tally tally;
  const uint64_t rows = in.varint();
  if (rows > in.left()) in.fail();
  for (uint64_t row = 0; in.ok() && row < rows; ++row) {
    KindCounters& cell = tally.cells_.emplace_back();
    cell.count = in.varint();
    cell.failed = in.varint();
    cell.bytes = in.varint();
    cell.squares = std::bit_cast<double>(in.u64());
    cell.service = Histogram::load(in);
    cell.response = Histogram::load(in);
    cell.recorded = Histogram::load(in);
  }
  if (!in.ok() || in.left() != 0) throw std::runtime_error("damaged counts from another rank");
  return tally;
}

}  // namespace fsr
