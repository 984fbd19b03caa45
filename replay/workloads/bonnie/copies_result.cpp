// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/copies_result.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>

#include "trace/bytes.hpp"

namespace fsr::bonnie {

namespace {

constexpr double Measured::*kTimes[] = {&Measured::elapsed, &Measured::cpu, &Measured::latency};

}  // namespace

std::string CopiesResult::save() const {
  ByteWriter out;
  for (const Measured& measured : results) {
    for (auto time : kTimes) out.u64(std::bit_cast<uint64_t>(measured.*time));
    measured.steps.save(out);
  }
  out.text(failure);
  out.text(left);
  out.u8(interrupted);
  return std::string(out.view());
}

CopiesResult CopiesResult::load(std::string_view saved) {
  ByteReader in(saved);
  CopiesResult result;
  for (Measured& measured : result.results) {
    for (auto time : kTimes) measured.*time = std::bit_cast<double>(in.u64());
    measured.steps = Histogram::load(in);
  }
  result.failure = in.text();
  result.left = in.text();
  result.interrupted = in.u8() != 0;
  if (!in.ok() || in.left() != 0) throw std::runtime_error("damaged results from another rank");
  return result;
}

Measured together(const Measured& a, const Measured& b) {
  if (a.elapsed == 0 || b.elapsed == 0) return {};
  Measured sum{std::max(a.elapsed, b.elapsed), a.cpu + b.cpu, std::max(a.latency, b.latency), a.steps};
  sum.steps.merge(b.steps);
  return sum;
}

}  // namespace fsr::bonnie
