// SPDX-License-Identifier: Apache-2.0
// What is remembered of UNSTABLE writes, to write it again when a server lost it.
#include "targets/nfs/uncommitted.hpp"

#include "base/payload.hpp"
#include "catch.hpp"

using namespace fsr;
using namespace fsr::nfs;

namespace {

constexpr uint64_t kOld = 111, kNew = 222;  // verifiers

DataSource generated(ObjectId object = 7, uint64_t shift = 0) { return {true, nullptr, object, shift}; }

std::vector<std::pair<uint64_t, uint64_t>> places(const std::vector<LostData>& lost) {
  std::vector<std::pair<uint64_t, uint64_t>> out;
  for (const LostData& l : lost) out.emplace_back(l.begin, l.end);
  return out;
}
using Places = std::vector<std::pair<uint64_t, uint64_t>>;

struct Fixture {
  Budget budget{1 << 20};
  Uncommitted file{budget};
};

}  // namespace

TEST_CASE("a COMMIT under the same verifier makes writes safe, later ones excepted") {
  Fixture f;
  CHECK(f.file.empty());
  CHECK_FALSE(f.file.wrote(0, 10, generated(), kOld));
  const uint64_t upto = f.file.writes();
  CHECK_FALSE(f.file.wrote(20, 30, generated(), kOld));
  CHECK_FALSE(f.file.committed(upto, kOld));
  CHECK_FALSE(f.file.empty());
  CHECK(f.file.lost().empty());
  CHECK_FALSE(f.file.committed(f.file.writes(), kOld));
  CHECK(f.file.empty());
}

TEST_CASE("another verifier of a COMMIT tells what is lost, once; written again and committed it is safe") {
  Fixture f;
  f.file.wrote(0, 10, generated(), kOld);
  f.file.wrote(20, 30, generated(8, 5), kOld);
  CHECK(f.file.committed(f.file.writes(), kNew));
  std::vector<LostData> lost = f.file.lost();
  REQUIRE(places(lost) == Places{{0, 10}, {20, 30}});
  CHECK(lost[1].source == generated(8, 5));
  CHECK_FALSE(f.file.committed(f.file.writes(), kNew));
  LostData part = lost[1];
  part.end = 25;
  f.file.wrote_again(lost[0], kNew);
  f.file.wrote_again(part, kNew);
  CHECK(places(f.file.lost()) == Places{{25, 30}});
  CHECK_FALSE(f.file.committed(f.file.writes(), kNew));
  CHECK(places(f.file.lost()) == Places{{25, 30}});
  part.begin = 25;
  part.end = 30;
  f.file.wrote_again(part, kNew);
  CHECK_FALSE(f.file.committed(f.file.writes(), kNew));
  CHECK(f.file.empty());
  CHECK_FALSE(f.file.take_unknown_loss());
}

TEST_CASE("another verifier of a WRITE tells so for those before it") {
  Fixture f;
  f.file.wrote(0, 10, generated(), kOld);
  CHECK(f.file.wrote(100, 110, generated(), kNew));
  CHECK(places(f.file.lost()) == Places{{0, 10}});
  CHECK_FALSE(f.file.wrote(200, 210, generated(), kNew));
}

TEST_CASE("what was overwritten, truncated or written stable is not written again") {
  Fixture f;
  f.file.wrote(0, 100, generated(), kOld);
  f.file.cut(10, 20);          // written stable
  f.file.cut(90, UINT64_MAX);  // truncated
  f.file.wrote(50, 60, generated(9), kNew);
  CHECK(places(f.file.lost()) == Places{{0, 10}, {20, 50}, {60, 90}});
  f.file.cut(0, UINT64_MAX);
  CHECK(f.file.lost().empty());
  CHECK(f.file.empty());
}

TEST_CASE("what somebody else wrote while data was written again is written once more, after it") {
  Fixture f;
  f.file.wrote(0, 10, generated(1), kOld);
  f.file.committed(f.file.writes(), kNew);
  const std::vector<LostData> lost = f.file.lost();
  f.file.wrote(4, 6, generated(2), kNew);
  f.file.wrote_again(lost[0], kNew);
  const std::vector<LostData> again = f.file.lost();
  REQUIRE(places(again) == Places{{4, 6}});
  CHECK(again[0].source == generated(2));
}

TEST_CASE("what is to be written again is taken piece by piece, without what others have written since") {
  Fixture f;
  for (uint64_t at = 0; at < 40; at += 10) f.file.wrote(at, at + 10, generated(at + 1), kOld);
  f.file.wrote(100, 110, generated(), kNew);
  const auto first = f.file.next_lost(0);
  REQUIRE(first);
  CHECK((first->begin == 0 && first->end == 10));
  f.file.wrote(10, 15, generated(), kNew);
  f.file.wrote(20, 30, generated(), kNew);
  const auto second = f.file.next_lost(10);
  REQUIRE(second);
  CHECK((second->begin == 15 && second->end == 20));
  CHECK(f.file.next_lost(17)->begin == 17);
  CHECK(f.file.next_lost(20)->begin == 30);
  CHECK_FALSE(f.file.next_lost(40));
  // Somebody writes the piece that is under way: it comes once more.
  f.file.wrote(2, 4, generated(), kNew);
  f.file.wrote_again(*first, kNew);
  CHECK((f.file.next_lost(0)->begin == 2 && f.file.next_lost(0)->end == 4));
}

TEST_CASE("sequential writes take one extent's memory, whatever their number") {
  Budget budget(1000);
  Uncommitted file(budget);
  for (uint64_t i = 0; i < 100'000; ++i) file.wrote(i * 4096, (i + 1) * 4096, generated(), kOld);
  CHECK(file.committed(file.writes(), kNew));
  CHECK(places(file.lost()) == Places{{0, 100'000 * 4096}});
  CHECK_FALSE(file.take_unknown_loss());
}

TEST_CASE("beyond the budget a loss is for good, and told once; what is given back can be used again") {
  Budget budget(1000);
  {
    Uncommitted file(budget);
    for (uint64_t i = 0; i < 100; ++i) file.wrote(i * 2 * 4096, (i * 2 + 1) * 4096, generated(), kOld);
    CHECK(file.committed(file.writes(), kNew));
    CHECK(file.take_unknown_loss());
    CHECK_FALSE(file.take_unknown_loss());
    CHECK(!file.lost().empty());
    CHECK(file.lost().size() < 10);
    CHECK(KeptData::keep(std::string(900, 'x'), budget) == nullptr);
  }
  CHECK(KeptData::keep(std::string(1000, 'x'), budget) != nullptr);
  CHECK(KeptData::keep(std::string(1001, 'x'), budget) == nullptr);
}

TEST_CASE("data comes from where it was: kept, or generated for the recorded place") {
  Budget budget(1000);
  const DataSource kept{true, KeptData::keep("0123456789", budget), kNoObject, 0 - uint64_t(500)};
  CHECK(kept.data(503, 4) == "3456");
  std::string scratch;
  // An append, recorded at 30, that went to 1000.
  CHECK(generated(7, uint64_t(30) - 1000).data(1010, 50) == Payload::shared().get(7, 40, 50, scratch));
}
