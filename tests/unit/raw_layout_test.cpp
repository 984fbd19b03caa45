// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "catch.hpp"
#include "op_list.hpp"
#include "plan/file_uses.hpp"
#include "targets/raw/layout.hpp"
#include "targets/raw/raw_ops.hpp"
#include "targets/raw/write_ranges.hpp"

namespace fsr::raw_layout_test {

using raw::Layout;
using raw::WriteRanges;

constexpr uint64_t kB = raw::kExtentAlign;

TEST_CASE("the layout puts files one behind the other, in whole blocks, in the order of their use") {
  const FileUse files[] = {{7, 1}, {3, kB}, {9, 0}, {5, kB + 1}};
  Layout layout(files, kB, 100 * kB, false);
  REQUIRE(layout.extents().size() == 3);
  CHECK(layout.find(7)->start == kB);
  CHECK(layout.find(7)->length == 1);
  CHECK(layout.find(3)->start == 2 * kB);
  CHECK(layout.find(5)->start == 3 * kB);
  CHECK(layout.find(9) == nullptr);
  CHECK(layout.find(4) == nullptr);
  CHECK(layout.bytes() == 4 * kB);
  CHECK(layout.wraps() == 0);
}

TEST_CASE("the layout may fill a device to its last block") {
  const FileUse files[] = {{1, 2 * kB}, {2, 2 * kB}};
  CHECK(Layout(files, kB, 5 * kB, false).find(2)->start == 3 * kB);
}

TEST_CASE("the layout refuses files that do not fit, or on request lets them overlap") {
  const FileUse files[] = {{1, 2 * kB}, {2, 2 * kB}, {3, kB}};
  CHECK_THROWS_AS(Layout(files, kB, 4 * kB, false), std::runtime_error);
  Layout layout(files, kB, 4 * kB, true);
  CHECK(layout.find(1)->start == kB);
  CHECK(layout.find(2)->start == kB);
  CHECK(layout.find(3)->start == 3 * kB);
  CHECK(layout.wraps() == 1);
}

TEST_CASE("the layout always refuses a file that is larger than the device") {
  const FileUse files[] = {{1, 3 * kB + 1}};
  CHECK_THROWS_AS(Layout(files, kB, 4 * kB, true), std::runtime_error);
  const FileUse endless[] = {{1, UINT64_MAX}};
  CHECK_THROWS_AS(Layout(endless, kB, 4 * kB, true), std::runtime_error);
}

TEST_CASE("the extent of a file has its transferred bytes, in the order of first use") {
  OpList list({{.start = 5, .kind = OpKind::read, .object = 4, .offset = 100, .length = 50, .result = 20},
               {.start = 6, .kind = OpKind::write, .object = 2, .offset = 0, .length = 10, .result = 10},
               {.start = 7, .kind = OpKind::read, .object = 4, .offset = 0, .length = 50, .result = 50},
               {.start = 8, .kind = OpKind::read, .error = 5, .object = 3, .length = 50},
               {.start = 8, .kind = OpKind::read, .object = 3, .length = 50, .result = 0},
               {.start = 8, .kind = OpKind::read, .op_flags = kOpUnfinished, .object = 8, .offset = 1, .length = 50},
               {.start = 9, .kind = OpKind::write, .object = 2, .offset = 10, .length = 10, .result = 10}});
  FileUses uses;
  uses.add(list, 5, 9);
  REQUIRE(uses.in_order_of_use().size() == 3);
  CHECK(uses.in_order_of_use()[0].object == 4);
  CHECK(uses.in_order_of_use()[0].end == 120);
  CHECK(uses.in_order_of_use()[1].end == 10);
  CHECK(uses.in_order_of_use()[2].end == 51);
}

TEST_CASE("a write that must read its blocks first excludes all others, and a plain write does not") {
  WriteRanges ranges;
  CHECK(ranges.enter(0, 512, false));
  CHECK(ranges.enter(0, 512, false));
  CHECK_FALSE(ranges.enter(0, 512, true));
  CHECK(ranges.enter(512, 1024, true));
  CHECK_FALSE(ranges.enter(512, 1024, true));
  CHECK_FALSE(ranges.enter(0, 4096, false));
  CHECK(ranges.enter(1024, 4096, false));
  ranges.leave(512, 1024, true);
  CHECK_FALSE(ranges.enter(0, 1024, true));
  ranges.leave(0, 512, false);
  ranges.leave(0, 512, false);
  CHECK(ranges.enter(0, 1024, true));
}

TEST_CASE("a device can perform transfers and syncs, and no other operations") {
  Op read{.kind = OpKind::read, .offset = 512, .length = 4096, .result = 512};
  CHECK(raw::fidelity(read, 512) == Fidelity::exact);
  CHECK(raw::fidelity(read, 4096) == Fidelity::approximate);
  read.result = 100;
  CHECK(raw::fidelity(read, 512) == Fidelity::approximate);
  CHECK(raw::transferred(read) == 100);
  read.op_flags = kOpUnfinished;
  CHECK(raw::transferred(read) == 4096);
  read.error = EIO;
  CHECK(raw::fidelity(read, 512) == Fidelity::impossible);
  CHECK(raw::fidelity({.kind = OpKind::unlink}, 512) == Fidelity::impossible);
}

}  // namespace fsr::raw_layout_test
