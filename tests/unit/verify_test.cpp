// SPDX-License-Identifier: Apache-2.0
#include "engine/verify.hpp"

#include <cerrno>
#include <string>
#include <vector>

#include "catch.hpp"

namespace fsr::verify_test {

namespace {

constexpr HandleId kOpen = 3;

std::vector<DirEntry> entries(std::initializer_list<std::string_view> names) {
  std::vector<DirEntry> out;
  for (std::string_view name : names) out.push_back({.name = name});
  return out;
}

struct Listings {
  Verifier verifier{true, 10};

  Match part(uint64_t offset, const std::vector<DirEntry>& expected, const std::vector<DirEntry>& got, uint64_t changes = 0) {
    const Op op{.kind = OpKind::readdir, .handle = kOpen, .offset = offset, .result = expected.size(), .entries = expected};
    return verifier.check(op, Outcome{.result = got.size(), .entries = got}, false, 0, changes);
  }
  Match counted(uint64_t offset, uint64_t expected, const std::vector<DirEntry>& got) {
    const Op op{.kind = OpKind::readdir, .handle = kOpen, .offset = offset, .result = expected};
    return verifier.check(op, Outcome{.result = got.size(), .entries = got}, false, 0);
  }
};

Match read(Verifier& verifier, uint64_t offset, std::string_view expected, std::string_view got) {
  const Op op{.kind = OpKind::read,
              .op_flags = kOpData,
              .offset = offset,
              .length = expected.size(),
              .result = expected.size(),
              .data = expected};
  return verifier.check(op, Outcome{.result = got.size(), .data = got}, false, 0);
}

}  // namespace

TEST_CASE("the first mismatches by number are kept, in whatever order operations end") {
  Verifier verifier(false, 2);
  for (uint64_t seq : {7, 3, 9, 1, 5}) verifier.check({.seq = seq, .kind = OpKind::fsync}, Outcome{.error = EIO}, false, 0);
  std::vector<Mismatch> kept = verifier.mismatches();
  Mismatch::keep_first(kept, 2);
  CHECK((kept.size() == 2 && kept[0].seq == 1 && kept[1].seq == 3 && verifier.total() == 5));
  const std::vector<Difference> groups = verifier.differences().list();
  REQUIRE((groups.size() == 1 && groups[0].count == 5 && groups[0].first_seq == 1));
  CHECK((groups[0].kind == OpKind::fsync && groups[0].expected == "ok" && groups[0].got == "EIO"));
  Verifier none(false, 0);
  none.check({.kind = OpKind::fsync}, Outcome{.error = EIO}, false, 0);
  CHECK((none.mismatches().empty() && none.total() == 1));
}

TEST_CASE("a listing with the same number of other names differs") {
  Listings l;
  CHECK(l.part(0, entries({"a", "b"}), entries({"a", "c"})) == Match::matched);  // c and b may still follow
  CHECK(l.part(2, {}, {}) == Match::differed);
  REQUIRE(l.verifier.mismatches().size() == 1);
  CHECK(l.verifier.mismatches()[0].expected == "2 entries");
  CHECK(l.verifier.mismatches()[0].got == "2 entries with other names");
}

TEST_CASE("a listing does not differ by its order, its division into calls, or the entries \".\" and \"..\"") {
  Listings l;
  CHECK(l.part(0, entries({"a", "b", "c"}), entries({"c", "."})) == Match::matched);
  CHECK(l.part(3, entries({"d"}), entries({"..", "d", "b", "a"})) == Match::matched);
  CHECK(l.part(4, {}, {}) == Match::matched);
}

TEST_CASE("a listing may differ by as many names as changed meanwhile") {
  Listings l;
  CHECK(l.part(0, entries({"a", "b", "c"}), entries({"a"})) == Match::matched);
  CHECK(l.part(3, {}, {}, 2) == Match::matched);
  CHECK(l.part(0, entries({"a", "b"}), entries({"a", "c"})) == Match::matched);
  CHECK(l.part(2, {}, {}, 1) == Match::matched);
  CHECK(l.verifier.changed_listings() == 2);
  CHECK(l.part(0, entries({"a", "b", "c"}), entries({"a"})) == Match::matched);
  CHECK(l.part(3, {}, {}, 1) == Match::differed);
  CHECK(l.verifier.changed_listings() == 2);
}

TEST_CASE("a restarted listing is compared anew") {
  Listings l;
  CHECK(l.part(0, entries({"a", "b"}), entries({"x"})) == Match::matched);
  CHECK(l.part(0, entries({"a"}), entries({"a"})) == Match::matched);
  CHECK(l.part(1, {}, {}) == Match::matched);
}

TEST_CASE("the number of names is compared if a listing has no recorded names") {
  Listings l;
  CHECK(l.counted(0, 2, entries({"x", "y"})) == Match::matched);
  CHECK(l.counted(2, 0, {}) == Match::matched);
  CHECK(l.counted(0, 2, entries({"x"})) == Match::matched);
  CHECK(l.counted(2, 0, {}) == Match::differed);
}

TEST_CASE("the check counts compared content in bytes and in blocks of the file") {
  Verifier verifier(true, 10);
  CHECK(read(verifier, 0, std::string(8192, 'a'), std::string(8192, 'a')) == Match::matched);
  CHECK(verifier.content().blocks == 2);
  CHECK(read(verifier, 4000, std::string(200, 'a'), std::string(200, 'b')) == Match::differed);
  CHECK(read(verifier, 0, "", "") == Match::matched);
  CHECK(verifier.content().blocks == 4);
  CHECK(verifier.content().bytes == 8392);

  Verifier none(false, 10);
  CHECK(read(none, 0, "a", "b") == Match::matched);
  CHECK(none.content().blocks == 0);
}

}  // namespace fsr::verify_test
