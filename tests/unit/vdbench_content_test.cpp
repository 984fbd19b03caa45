// SPDX-License-Identifier: Apache-2.0
// Tests vdbench's dedup and compression ratios, measured by a hash of blocks and by zstd.
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "catch.hpp"
#include "workloads/vdbench/content/content.hpp"

namespace fsr::vdbench_content_test {

using namespace fsr::vdbench;

namespace {

constexpr uint64_t kSize = 16 << 20;

std::string written(const Content& content, ContentWriter& writer, uint64_t transfer) {
  std::string all;
  for (uint64_t at = 0; at < kSize; at += transfer) all += writer.get(content, at, transfer);
  return all;
}

double dedup_of(const std::string& data, uint64_t unit) {
  std::set<uint64_t> different;
  for (uint64_t at = 0; at < data.size(); at += unit) different.insert(XXH3_64bits(data.data() + at, unit));
  return double(data.size() / unit) / double(different.size());
}

double compression_of(const std::string& data) {
  std::string room(ZSTD_compressBound(data.size()), 0);
  return double(data.size()) / double(ZSTD_compress(room.data(), room.size(), data.data(), data.size(), 3));
}

}  // namespace

TEST_CASE("vdbench's data has the requested compressibility") {
  for (double ratio : {1.0, 1.5, 2.0, 4.0, 10.0, 25.0}) {
    const Content content({.compression = ratio}, "sd1", kSize);
    ContentWriter writer(0);
    REQUIRE(compression_of(written(content, writer, 128 << 10)) == Approx(ratio).epsilon(0.05));
  }
}

TEST_CASE("vdbench's blocks have the requested duplicates, also after repeated writes") {
  for (double ratio : {1.2, 2.0, 5.0})
    for (uint64_t unit : {4096u, 8192u}) {
      const Content content({.compression = 2, .dedup = ratio, .unit = unit}, "sd1", kSize);
      ContentWriter writer(0), other(1);
      std::string data = written(content, writer, 64 << 10);
      REQUIRE(dedup_of(data, unit) == Approx(ratio).epsilon(0.05));
      for (uint64_t at = 0; at < kSize; at += 32 << 10) data.replace(at, 16 << 10, other.get(content, at, 16 << 10));
      REQUIRE(dedup_of(data, unit) == Approx(ratio).epsilon(0.05));
      // These transfers begin and end within a unit.
      for (uint64_t at = 512; at + 2048 <= kSize; at += 64 << 10) data.replace(at, 2048, other.get(content, at, 2048));
      REQUIRE(dedup_of(data, unit) == Approx(ratio).epsilon(0.05));
    }
  const Content few({.dedup = 2, .unit = 4096, .sets = 3, .sets_percent = false}, "sd1", kSize);
  ContentWriter writer(0);
  REQUIRE(dedup_of(written(few, writer, 4096), 4096) == Approx(2).epsilon(0.05));
  REQUIRE_THROWS_AS(Content({.dedup = 30, .unit = 4096}, "sd1", kSize), std::runtime_error);
}

TEST_CASE("vdbench's transfers keep the ratio if they are smaller than a unit, in any order") {
  const Content content({.dedup = 2, .unit = 32 << 10}, "sd1", kSize);
  ContentWriter writer(0);
  std::string data(kSize, 0);
  for (uint64_t i = 0, transfers = kSize / 4096; i < transfers; ++i) {
    const uint64_t at = i * 1021 % transfers * 4096;
    data.replace(at, 4096, writer.get(content, at, 4096));
  }
  REQUIRE(dedup_of(data, 32 << 10) == Approx(2).epsilon(0.05));
  // A part of a unit equals the same part in a transfer of the whole unit.
  const Content alike({.compression = 3, .dedup = 2, .unit = 8192, .sets = 1, .sets_percent = false}, "sd1", 16384);
  for (uint64_t unit : {0, 8192}) {
    const std::string whole(writer.get(alike, unit, 8192));
    if (writer.get(alike, unit, 8192) != whole) continue;  // the unit belongs to no set of duplicates
    std::string parts;
    for (uint64_t at = 0; at < 8192; at += 100) parts += writer.get(alike, unit + at, std::min<uint64_t>(100, 8192 - at));
    REQUIRE(parts == whole);
  }
}

TEST_CASE("vdbench's hot sets are units at the beginning, and keep the requested ratio") {
  const ContentSettings settings{.dedup = 2, .unit = 4096, .hot_sets = {{4, 100}, {2, 50}}};
  const Content content(settings, "sd1", kSize);
  ContentWriter writer(0);
  const std::string data = written(content, writer, 64 << 10);
  REQUIRE(dedup_of(data, 4096) == Approx(2).epsilon(0.05));
  REQUIRE(dedup_of(data.substr(0, 400 * 4096), 4096) == 100);
  REQUIRE(dedup_of(data.substr(400 * 4096, 100 * 4096), 4096) == 50);
  REQUIRE_THROWS_AS(Content({.dedup = 2, .unit = 4096, .hot_sets = {{4000, 1}}}, "sd1", kSize), std::runtime_error);
  REQUIRE_THROWS_AS(Content({.dedup = 2, .unit = 4096, .hot_sets = {{1, 4000}}}, "sd1", kSize), std::runtime_error);
}

TEST_CASE("vdbench's flip-flop sets have two contents") {
  for (auto flips : {ContentSettings::Flips::all, ContentSettings::Flips::hot}) {
    const bool all = flips == ContentSettings::Flips::all;
    const Content content({.dedup = 2, .unit = 8192, .sets = 20, .sets_percent = false, .hot_sets = {{1, 100}}, .flips = flips},
                          "sd1", kSize);
    ContentWriter writer(0), other(1);
    const std::string first = written(content, writer, 8192), second = written(content, other, 4096),
                      third = written(content, writer, 8192);
    std::set<uint64_t> hot;
    for (uint64_t at = 0; at < 100 * 8192; at += 8192) {
      REQUIRE(first.compare(at, 8192, second, at, 8192) != 0);
      REQUIRE(first.compare(at, 8192, third, at, 8192) == 0);
      hot.insert(XXH3_64bits(first.data() + at, 8192));
      hot.insert(XXH3_64bits(second.data() + at, 8192));
    }
    REQUIRE(hot.size() == 2);
    unsigned same = 0;
    for (uint64_t at = 100 * 8192; at < kSize; at += 8192) same += first.compare(at, 8192, second, at, 8192) == 0;
    REQUIRE((same == 0) == all);
  }
}

TEST_CASE("vdbench repeats a pattern from the beginning to the end") {
  const Content content({.pattern = std::make_shared<const std::string>("abcde")}, "sd1", kSize);
  ContentWriter writer(0);
  REQUIRE(writer.get(content, 0, 7) == "abcdeab");
  REQUIRE(writer.get(content, 512, 4) == "cdea");
}

}  // namespace fsr::vdbench_content_test
