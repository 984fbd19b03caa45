// SPDX-License-Identifier: Apache-2.0
#include "stage/load.hpp"

#include <atomic>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "catch.hpp"
#include "stage/seat.hpp"
#include "stage/stage.hpp"

using namespace fsr;

namespace {

constexpr int64_t kUs = 1'000, kMs = 1'000'000;

// Turns of `work` each 100 us, with `awake` before each, for 10 ms. Returns when they end.
int64_t turns(Load& load, int64_t at, int64_t work, int64_t awake, int64_t* awake_so_far) {
  for (const int64_t end = at + 10 * kMs; at < end; at += 100 * kUs) load.add(at, at + work, *awake_so_far += awake);
  return at;
}

// Sleeps from one due time to the next.
class Waits final : public Player {
 public:
  Waits(int64_t gap, std::atomic<uint64_t>& turns) : gap_(gap), turns_(turns) {}
  Actor play(Seat& seat) override {
    for (int64_t due = seat.started(); !seat.ended(); due += gap_) {
      co_await seat.until(due);
      early_ += seat.now() < due && !seat.ended();
      Op op;
      op.kind = OpKind::statfs;
      op.object = kRootObject;
      co_await seat.perform(op, 0);
      ++turns_;
    }
  }
  int early() const { return early_; }

 private:
  const int64_t gap_;
  std::atomic<uint64_t>& turns_;
  int early_ = 0;
};

}  // namespace

TEST_CASE("A worker that is awake for little work is told from one that sleeps, and from one that has much to do") {
  Load load;
  int64_t awake = 0, at = turns(load, kMs, 5 * kUs, 90 * kUs, &awake);
  CHECK(load.work() / 10 == 5);
  CHECK((load.awake() && !load.heavy()));
  at = turns(load, at, 5 * kUs, 20 * kUs, &awake);
  CHECK((!load.awake() && !load.heavy()));
  at = turns(load, at, 70 * kUs, 30 * kUs, &awake);
  CHECK((load.awake() && load.heavy()));
  at = turns(load, at, 5 * kUs, 90 * kUs, &awake);
  CHECK(load.heavy());  // not long ago
  at = turns(load, at + 1000 * kMs, 5 * kUs, 90 * kUs, &awake);
  CHECK_FALSE(load.heavy());
  load.add(at, at + 2 * kMs, awake);  // one thing that takes long
  CHECK(load.heavy());
  at = turns(load, at + 2000 * kMs, 5 * kUs, 90 * kUs, &awake);
  CHECK_FALSE(load.heavy());
  load.queued();
  at = turns(load, at, 5 * kUs, 90 * kUs, &awake);
  CHECK(load.heavy());
}

TEST_CASE("There is room for as much work as leaves a worker idle for the most part") {
  Room room;
  CHECK_FALSE(room.take(1));
  room.open(100);
  CHECK(room.take(200));
  CHECK_FALSE(room.take(200));
  CHECK(room.take(100));
  room.close();
  CHECK_FALSE(room.take(1));
}

TEST_CASE("Players that wait lose no turn, wherever they go", "[threads]") {
  MonotonicClock clock;
  auto target = open_target("memory:", {.clock = &clock});
  Stage stage(clock);
  stage.add(*target, 3);
  std::atomic<uint64_t> turns = 0;
  std::vector<Part> parts;
  std::vector<const Waits*> players;
  for (unsigned i = 0; i < 9; ++i) {
    auto player = std::make_unique<Waits>(20 * kUs, turns);
    players.push_back(player.get());
    parts.push_back({std::move(player), 0, i});
  }
  const Played played = stage.play(parts, {.duration = 150 * kMs});
  CHECK(played.abandoned == 0);
  CHECK(played.counts[0].count == turns);
  CHECK(played.counts[0].failed == 0);
  for (const Waits* player : players) CHECK(player->early() == 0);
}
