// SPDX-License-Identifier: Apache-2.0
// Tests that memory for O_DIRECT begins at a page of whatever size this machine has (tests/package/arm64: 4, 16 and 64 KiB).
#include "util/page_size.hpp"

#include "base/page_buffer.hpp"
#include "catch.hpp"
#include "targets/file/tree.hpp"

namespace fsr::page_size_test {

static bool at_page(const char* memory) { return reinterpret_cast<uintptr_t>(memory) % page_size() == 0; }

TEST_CASE("memory for O_DIRECT begins at a page") {
  CHECK(whole_pages(0) == 0);
  CHECK(whole_pages(1) == page_size());
  CHECK(whole_pages(page_size()) == page_size());
  ReplyBuffer reply;
  for (const size_t bytes : {size_t(1), size_t(4096), page_size() + 1, size_t(1) << 20}) {
    const PageBuffer buffer(bytes, 'x');
    CHECK(at_page(buffer.data()));
    CHECK(buffer.size() == bytes);
    CHECK(at_page(reply.need(bytes)));
  }
}

}  // namespace fsr::page_size_test
