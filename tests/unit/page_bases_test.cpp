// SPDX-License-Identifier: Apache-2.0
#include "page_bases.hpp"

#include <string>

#include "catch.hpp"

namespace fsr::page_bases_test {

using fsr::shim::PageBases;

namespace {

constexpr size_t kPage = 4096;

// Returns the stored runs of a page as "offset+length offset+length".
std::string stored(PageBases& bases, const std::string& page) {
  std::string text;
  for (const PageBases::Run& run : bases.stored(1, 0, page.data(), page.size()))
    text += (text.empty() ? "" : " ") + std::to_string(run.at) + "+" + std::to_string(run.length);
  return text;
}

}  // namespace

TEST_CASE("only bytes that were stored through a mapping are written back") {
  PageBases bases(16 << 20);
  std::string page(kPage, '\0');
  bases.given(1, 0, page.data(), page.size(), kPage);
  CHECK(stored(bases, page).empty());
  page[0] = 1, page[2] = page[3] = 3;
  CHECK(stored(bases, page) == "0+1 2+2");
  bases.written(1, 0, page.data(), page.size());
  CHECK(stored(bases, page).empty());
  CHECK(bases.missing() == 0);
}

TEST_CASE("what is written to a page that the kernel has cached was not stored through a mapping") {
  PageBases bases(16 << 20);
  std::string page(kPage, '\0');
  bases.given(1, 0, page.data(), page.size(), kPage);
  page[0] = 1;
  page[10] = page[11] = 2;
  bases.changed(1, 10, "\2\2", 2);
  CHECK(stored(bases, page) == "0+1");
  // A whole page needs no base before. A part of one gets none: the kernel does not keep such a page.
  std::string next(kPage + 100, 'n');
  bases.changed(1, kPage, next.data(), next.size());
  CHECK(bases.stored(1, kPage, next.data(), kPage).empty());
  CHECK(bases.stored(1, 2 * kPage, next.data(), kPage).size() == 1);
  CHECK(bases.missing() == 1);
}

}  // namespace fsr::page_bases_test
