// SPDX-License-Identifier: Apache-2.0
// Tests that end records beyond those in memory are read again from their blocks.
#include <map>
#include <vector>

#include "catch.hpp"
#include "trace/end_records.hpp"

namespace fsr::end_records_test {

TEST_CASE("end records are found whether they are in memory or read again") {
  std::map<size_t, std::vector<Op>> blocks;
  for (uint64_t seq = 0; seq < 4000; ++seq) {
    Op op{.seq = seq, .kind = OpKind::read, .length = 7 * seq};
    op.start = int64_t(seq);
    op.duration = 1000;
    blocks[1 + seq / 4].push_back(op);
  }
  size_t reads = 0;
  EndRecords ends(
      [&](size_t block, const EndRecords::Visit& visit) {
        ++reads;
        for (const Op& op : blocks[block]) visit(op);
      },
      100);
  for (const auto& [block, ops] : blocks) CHECK(ends.collect(block));
  CHECK(reads == blocks.size());
  for (uint64_t seq = 0; seq < 4000; ++seq) {
    const Op* op = ends.find(seq);
    REQUIRE(op);
    CHECK(op->length == 7 * seq);
  }
  CHECK(reads == blocks.size() + 975);  // each block once
  CHECK_FALSE(ends.find(4000));

  std::vector<uint64_t> across;
  ends.each_across(410, 101, [&](const Op& op) { across.push_back(op.seq); });
  CHECK(across == std::vector<uint64_t>{404, 405, 406, 407, 408, 409});
  across.clear();
  ends.each_across(6, 1, [&](const Op& op) { across.push_back(op.seq); });
  CHECK(across == std::vector<uint64_t>{4, 5});
}

}  // namespace fsr::end_records_test
