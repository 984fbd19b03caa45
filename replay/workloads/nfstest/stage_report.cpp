// SPDX-License-Identifier: Apache-2.0
#include "workloads/nfstest/stage_report.hpp"

#include <stdexcept>

#include "trace/bytes.hpp"

namespace fsr::nfstest {

std::string StageReport::save() const {
  ByteWriter out;
  out.varint(uint64_t(took));
  out.varint(bytes);
  out.varint(wrong);
  out.varint(shown.size());
  for (const std::string& line : shown) out.text(line);
  out.text(error);
  out.u8(interrupted);
  out.u8(counted);
  out.varint(wire_reads);
  out.text(counts.save());
  return std::string(out.view());
}

StageReport StageReport::load(std::string_view saved) {
  ByteReader in(saved);
  StageReport report;
  report.took = int64_t(in.varint());
  report.bytes = in.varint();
  report.wrong = in.varint();
  const uint64_t lines = in.varint();
  if (lines > kMostShown) in.fail();
  for (uint64_t i = 0; in.ok() && i < lines; ++i) report.shown.emplace_back(in.text());
  report.error = in.text();
  report.interrupted = in.u8() != 0;
  report.counted = in.u8() != 0;
  report.wire_reads = in.varint();
  const std::string_view counts = in.text();
  if (!in.ok() || in.left() != 0) throw std::runtime_error("damaged report from another rank");
  report.counts = Tally::load(counts);
  return report;
}

}  // namespace fsr::nfstest
