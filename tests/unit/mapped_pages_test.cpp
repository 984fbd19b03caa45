// SPDX-License-Identifier: Apache-2.0
// Tests pages of mappings: what was stored to them, and to which mapping they belong.
#include <string>

#include "catch.hpp"
#include "page_bases.hpp"
#include "process_maps.hpp"

namespace fsr::mapped_pages_test {

using namespace fsr::shim;

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPlenty = 1 << 20;

std::string text(const std::vector<PageBases::Run>& runs) {
  std::string all;
  for (const PageBases::Run& run : runs) all += std::to_string(run.at) + "+" + std::to_string(run.length) + " ";
  return all;
}

}  // namespace

TEST_CASE("the write-back of a page reports only the bytes stored since its read") {
  PageBases bases(kPlenty);
  std::string page(2 * kPage, 'a');
  bases.given(7, kPage, page.data(), page.size(), page.size());
  CHECK(text(bases.stored(7, kPage, page.data(), page.size())).empty());
  page[3] = page[4] = page[kPage + 9] = 'b';
  CHECK(text(bases.stored(7, kPage, page.data(), page.size())) == "3+2 4105+1 ");
  bases.written(7, kPage, page.data(), page.size());
  CHECK(text(bases.stored(7, kPage, page.data(), page.size())).empty());
  page[4] = 'c';
  CHECK(text(bases.stored(7, kPage, page.data(), page.size())) == "4+1 ");
  CHECK(bases.missing() == 0);
}

TEST_CASE("a page has zeros behind the end of the file, also after a truncation") {
  PageBases bases(kPlenty);
  std::string page(kPage, 'a');
  bases.given(7, 0, page.data(), 10, 2 * kPage);
  page.replace(10, std::string::npos, kPage - 10, '\0');
  CHECK(text(bases.stored(7, 0, page.data(), page.size())).empty());
  const std::string zeros(kPage, '\0');
  CHECK(text(bases.stored(7, kPage, zeros.data(), zeros.size())).empty());
  bases.zeroed(7, 4, UINT64_MAX);
  page.replace(4, 6, 6, '\0');
  CHECK(text(bases.stored(7, 0, page.data(), page.size())).empty());
  CHECK(bases.missing() == 0);
  CHECK(text(bases.stored(7, kPage, zeros.data(), zeros.size())) == "0+4096 ");
  CHECK(bases.missing() == 1);
}

TEST_CASE("a page without a known earlier content is written back completely, and counted") {
  PageBases bases(2 * kPage);
  const std::string page(kPage, 'a');
  for (uint64_t i = 0; i < 3; ++i) bases.given(7, i * kPage, page.data(), kPage, kPage);
  CHECK(text(bases.stored(7, 0, page.data(), kPage)) == "0+4096 ");
  CHECK(text(bases.stored(7, kPage, page.data(), kPage)).empty());
  CHECK(bases.missing() == 1);
  bases.forget(7);
  CHECK(text(bases.stored(7, kPage, page.data(), kPage)) == "0+4096 ");
}

TEST_CASE("a mapping exists until another takes its addresses") {
  using Maps = ProcessMaps<int>;
  Maps maps;
  const auto file = std::make_shared<int>(1), other = std::make_shared<int>(2);
  const Maps::Mapping whole{10 * kPage, 0, true, file};
  maps.mapped(5, 2 * kPage, 10 * kPage, &whole);
  maps.mapped(5, 4 * kPage, 5 * kPage, nullptr);
  uint64_t start = 0;
  CHECK(maps.find(5, 2 * kPage - 1, &start) == nullptr);
  CHECK(maps.find(5, 4 * kPage, &start) == nullptr);
  CHECK(maps.find(5, 10 * kPage, &start) == nullptr);
  CHECK(maps.find(6, 3 * kPage, &start) == nullptr);
  REQUIRE(maps.find(5, 5 * kPage, &start));
  CHECK(start == 5 * kPage);
  CHECK(maps.find(5, 5 * kPage, &start)->offset == 3 * kPage);
  REQUIRE(maps.find(5, 4 * kPage - 1, &start));
  CHECK(start == 2 * kPage);

  maps.forked(5, 6);
  maps.ended(5);
  CHECK(maps.find(5, 3 * kPage, &start) == nullptr);
  REQUIRE(maps.find(6, 3 * kPage, &start));
  const Maps::Mapping upper{20 * kPage, 0, false, other};
  maps.mapped(6, 9 * kPage, 20 * kPage, &upper);
  CHECK(maps.find(6, 9 * kPage, &start)->file == other);
  maps.drop_if([](const int& f) { return f == 2; });
  CHECK(maps.find(6, 9 * kPage, &start) == nullptr);
  CHECK(maps.find(6, 9 * kPage - 1, &start)->file == file);
  maps.mapped(6, 0, 30 * kPage, nullptr);
  CHECK(maps.empty());
}

}  // namespace fsr::mapped_pages_test
