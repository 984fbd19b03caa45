// SPDX-License-Identifier: Apache-2.0
// Tests the memory of UNSTABLE writes, which are written again if a server loses them.
#include "targets/nfs/uncommitted.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "base/payload.hpp"
#include "catch.hpp"

namespace fsr::uncommitted_test {

using namespace fsr::nfs;

namespace {

constexpr uint64_t kOld = 111, kNew = 222;  // verifiers

std::vector<LostData> lost_of(Uncommitted& file) {
  std::vector<LostData> all;
  for (uint64_t from = 0;; from = all.back().end) {
    const std::optional<LostData> piece = file.take_lost(from, UINT64_MAX, UINT64_MAX);
    if (!piece) return all;
    all.push_back(*piece);
    file.leave(*piece);
  }
}

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

TEST_CASE("a COMMIT with the same verifier makes earlier writes safe") {
  Fixture f;
  CHECK(f.file.empty());
  CHECK_FALSE(f.file.wrote(0, 10, generated(), kOld));
  const uint64_t upto = f.file.writes();
  CHECK_FALSE(f.file.wrote(20, 30, generated(), kOld));
  CHECK_FALSE(f.file.committed(upto, kOld));
  CHECK_FALSE(f.file.empty());
  CHECK(lost_of(f.file).empty());
  CHECK_FALSE(f.file.committed(f.file.writes(), kOld));
  CHECK(f.file.empty());
}

TEST_CASE("a new verifier in a COMMIT reports lost data once; the data is safe after a new WRITE and COMMIT") {
  Fixture f;
  f.file.wrote(0, 10, generated(), kOld);
  f.file.wrote(20, 30, generated(8, 5), kOld);
  CHECK(f.file.committed(f.file.writes(), kNew));
  std::vector<LostData> lost = lost_of(f.file);
  REQUIRE(places(lost) == Places{{0, 10}, {20, 30}});
  CHECK(lost[1].source == generated(8, 5));
  CHECK_FALSE(f.file.committed(f.file.writes(), kNew));
  f.file.wrote_again(lost[0], 10, kNew, 1);
  f.file.wrote_again(lost[1], 5, kNew, 2);
  CHECK(places(lost_of(f.file)) == Places{{25, 30}});
  CHECK_FALSE(f.file.committed(f.file.writes(), kNew));
  CHECK(places(lost_of(f.file)) == Places{{25, 30}});
  f.file.wrote_again(lost_of(f.file)[0], 5, kNew, 3);
  CHECK_FALSE(f.file.committed(f.file.writes(), kNew));
  CHECK(f.file.empty());
  CHECK_FALSE(f.file.take_unknown_loss());
}

TEST_CASE("a COMMIT finds the loss of a write that a newer write continued while the COMMIT was under way") {
  Fixture f;
  f.file.wrote(0, 10, generated(), kOld);
  const uint64_t upto = f.file.writes();
  f.file.wrote(10, 20, generated(), kOld);
  CHECK(f.file.committed(upto, kNew));
  CHECK(places(lost_of(f.file)) == Places{{0, 20}});
}

TEST_CASE("a COMMIT finds the loss of a write whose data was not kept, although a newer one followed, and reports it once") {
  Fixture f;
  f.file.wrote(0, 10, {}, kOld);
  const uint64_t upto = f.file.writes();
  f.file.wrote(10, 20, {}, kOld);
  CHECK(f.file.committed(upto, kNew));
  CHECK(f.file.take_unknown_loss());
  f.file.wrote(20, 30, {}, kNew);
  CHECK_FALSE(f.file.committed(f.file.writes(), kNew));
  CHECK_FALSE(f.file.take_unknown_loss());
  CHECK(f.file.empty());
}

TEST_CASE("a new verifier in a WRITE reports the loss of earlier writes") {
  Fixture f;
  f.file.wrote(0, 10, generated(), kOld);
  CHECK(f.file.wrote(100, 110, generated(), kNew));
  CHECK(places(lost_of(f.file)) == Places{{0, 10}});
  CHECK_FALSE(f.file.wrote(200, 210, generated(), kNew));
}

TEST_CASE("data that was overwritten, truncated or written stable is not written again") {
  Fixture f;
  f.file.wrote(0, 100, generated(), kOld);
  f.file.cut(10, 20);          // written as stable
  f.file.cut(90, UINT64_MAX);  // truncated
  f.file.wrote(50, 60, generated(9), kNew);
  CHECK(places(lost_of(f.file)) == Places{{0, 10}, {20, 50}, {60, 90}});
  f.file.cut(0, UINT64_MAX);
  CHECK(lost_of(f.file).empty());
  CHECK(f.file.empty());
}

TEST_CASE("lost data is returned in pieces, without ranges that were written since") {
  Fixture f;
  for (uint64_t at = 0; at < 40; at += 10) f.file.wrote(at, at + 10, generated(at + 1), kOld);
  CHECK_FALSE(f.file.has_lost());
  f.file.wrote(100, 110, generated(), kNew);
  CHECK(f.file.has_lost());
  const auto place = [&](uint64_t from, uint64_t upto, uint64_t most) {
    const std::optional<LostData> piece = f.file.take_lost(from, upto, most);
    if (piece) f.file.leave(*piece);
    return piece ? std::pair(piece->begin, piece->end) : std::pair<uint64_t, uint64_t>();
  };
  using Place = std::pair<uint64_t, uint64_t>;
  CHECK(place(0, UINT64_MAX, 100) == Place{0, 10});
  CHECK(place(0, UINT64_MAX, 4) == Place{0, 4});
  CHECK(place(3, 7, 100) == Place{3, 7});
  f.file.wrote(10, 15, generated(), kNew);
  f.file.wrote(20, 30, generated(), kNew);
  CHECK(place(10, UINT64_MAX, 100) == Place{15, 20});
  CHECK(place(17, UINT64_MAX, 100) == Place{17, 20});
  CHECK(place(20, UINT64_MAX, 100) == Place{30, 40});
  CHECK_FALSE(f.file.take_lost(20, 30, 100));
  CHECK_FALSE(f.file.take_lost(40, UINT64_MAX, 100));
}

TEST_CASE("the data of a write in flight during a repeated write of older data remains") {
  Fixture f;
  for (uint64_t at = 0; at < 30; at += 10) f.file.wrote(at, at + 10, generated(at + 1), kOld);
  f.file.committed(f.file.writes(), kNew);
  const LostData first = *f.file.take_lost(0, UINT64_MAX, 100);
  CHECK((f.file.raced(8, 12, 0) && f.file.raced(8, 12, 99)));  // the write may still be in flight
  CHECK_FALSE(f.file.raced(10, 12, 0));
  CHECK_FALSE(f.file.raced(5, 5, 0));
  f.file.wrote(4, 6, generated(9), kNew);
  f.file.wrote_again(first, 10, kNew, 5);
  CHECK(places(lost_of(f.file)) == Places{{10, 20}, {20, 30}});
  // Requests sent before the reply, and after it.
  for (uint64_t at : {0, 4, 8}) CHECK((f.file.raced(at, at + 1, 4) && !f.file.raced(at, at + 1, 5)));
  CHECK_FALSE(f.file.raced(10, 30, 0));
  // The rest is no longer in flight.
  const LostData second = *f.file.take_lost(10, UINT64_MAX, 100);
  f.file.leave(second);
  CHECK_FALSE(f.file.raced(10, 20, 0));
  // A COMMIT does not remove the memory of the race.
  f.file.committed(f.file.writes(), kNew);
  CHECK((f.file.raced(0, 1, 4) && !f.file.raced(0, 1, 5)));
}

TEST_CASE("a write that raced too often is lost, for ever if its data was not kept") {
  Fixture f;
  f.file.wrote(0, 30, generated(), kOld);
  f.file.wrote(10, 20, generated(9), kOld);
  f.file.lose(10, 20);
  const std::vector<LostData> lost = lost_of(f.file);
  REQUIRE(places(lost) == Places{{10, 20}});
  CHECK(lost[0].source == generated(9));
  CHECK_FALSE(f.file.take_unknown_loss());
  f.file.wrote(4, 6, {}, kOld);
  f.file.lose(4, 6);
  CHECK(f.file.take_unknown_loss());
}

TEST_CASE("two sessions may write the same lost data again at once") {
  Fixture f;
  f.file.wrote(0, 10, generated(), kOld);
  f.file.committed(f.file.writes(), kNew);
  const LostData one = *f.file.take_lost(0, UINT64_MAX, 100), other = *f.file.take_lost(0, UINT64_MAX, 100);
  f.file.wrote_again(one, 10, kNew, 1);
  CHECK(f.file.raced(0, 10, 1));  // with the other write
  f.file.wrote_again(other, 10, kNew, 2);
  CHECK_FALSE(f.file.has_lost());
  CHECK_FALSE(f.file.raced(0, 10, 2));
  CHECK_FALSE(f.file.committed(f.file.writes(), kNew));
  CHECK(f.file.empty());
}

TEST_CASE("sequential writes take the memory of one extent, whatever their number") {
  Budget budget(1000);
  Uncommitted file(budget);
  for (uint64_t i = 0; i < 100'000; ++i) file.wrote(i * 4096, (i + 1) * 4096, generated(), kOld);
  CHECK(file.committed(file.writes(), kNew));
  CHECK(places(lost_of(file)) == Places{{0, 100'000 * 4096}});
  CHECK_FALSE(file.take_unknown_loss());
}

TEST_CASE("a loss of data beyond the budget is final and reported once, and freed memory can be used again") {
  Budget budget(1000);
  {
    Uncommitted file(budget);
    for (uint64_t i = 0; i < 100; ++i) file.wrote(i * 2 * 4096, (i * 2 + 1) * 4096, generated(), kOld);
    CHECK(file.committed(file.writes(), kNew));
    CHECK(file.take_unknown_loss());
    CHECK_FALSE(file.take_unknown_loss());
    CHECK(!lost_of(file).empty());
    CHECK(lost_of(file).size() < 10);
    CHECK(RetainedData::keep(std::string(900, 'x'), budget) == nullptr);
  }
  CHECK(RetainedData::keep(std::string(1000, 'x'), budget) != nullptr);
  CHECK(RetainedData::keep(std::string(1001, 'x'), budget) == nullptr);
}

TEST_CASE("data to write again is kept, or generated for the recorded offset") {
  Budget budget(1000);
  const DataSource kept{true, RetainedData::keep("0123456789", budget), kNoObject, 0 - uint64_t(500)};
  CHECK(kept.data(503, 4) == "3456");
  std::string scratch;
  // An append, recorded at offset 30, that went to 1000.
  CHECK(generated(7, uint64_t(30) - 1000).data(1010, 50) == Payload::shared().get(7, 40, 50, scratch));
}

}  // namespace fsr::uncommitted_test
