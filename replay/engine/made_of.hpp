// SPDX-License-Identifier: Apache-2.0
// Sums of the parts of response times: operations in rows by their response time, two to a decade. Not thread-safe: each worker
// has its own, merged at the end.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace fsr {

class MadeOf {
 public:
  static constexpr size_t kRows = 20;
  struct Row {
    uint64_t operations = 0;
    int64_t service = 0, waiting = 0, lateness = 0;  // sums, ns
  };

  void add(int64_t response, int64_t service, int64_t waiting, int64_t lateness) {
    add(row_of(response), {1, service, waiting, lateness});
  }
  void add(size_t row, const Row& parts) {
    Row& to = rows_[row];
    to.operations += parts.operations;
    to.service += parts.service;
    to.waiting += parts.waiting;
    to.lateness += parts.lateness;
  }
  void merge(const MadeOf& other) {
    for (size_t row = 0; row < kRows; ++row) add(row, other.rows_[row]);
  }
  const std::array<Row, kRows>& rows() const { return rows_; }

  // Returns the shortest time of a row. The first has all shorter ones, too, and the last all longer ones.
  static int64_t low(size_t row) { return kLow[row]; }
  static size_t row_of(int64_t ns) {
    // An octave has at most one bound.
    const size_t row = kOfOctave[size_t(std::bit_width(uint64_t(std::max<int64_t>(ns, 1))))];
    return row + 1 < kRows && ns >= kLow[row + 1] ? row + 1 : row;
  }

 private:
  static constexpr std::array<int64_t, kRows> kLow = [] {
    std::array<int64_t, kRows> low{};
    int64_t decade = 1;
    for (size_t row = 0; row < kRows; row += 2, decade *= 10) {
      low[row] = decade;
      low[row + 1] = (decade * 316'228 + 99'999) / 100'000;  // the square root of 10, rounded up
    }
    return low;
  }();
  // The row in which the shortest time of each number of binary digits lies.
  static constexpr std::array<uint8_t, 65> kOfOctave = [] {
    std::array<uint8_t, 65> rows{};
    for (size_t digits = 1; digits < 65; ++digits) {
      size_t row = 0;
      while (row + 1 < kRows && uint64_t(kLow[row + 1]) <= uint64_t(1) << (digits - 1)) ++row;
      rows[digits] = uint8_t(row);
    }
    return rows;
  }();

  std::array<Row, kRows> rows_{};
};

}  // namespace fsr
