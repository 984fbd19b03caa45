// SPDX-License-Identifier: Apache-2.0
// Tests what a target with many clients uses: who has something to do, what each did, and the table of tags that grows.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>

#include "base/client_figures.hpp"
#include "catch.hpp"
#include "report/clients_section.hpp"
#include "targets/client_watch.hpp"
#include "targets/lock_homes.hpp"
#include "targets/wire/tag_table.hpp"

using namespace fsr;

TEST_CASE("a watch finds the clients that have something to do") {
  ClientWatch watch(3);
  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  const UniqueFd ours(pair[0]), theirs(pair[1]);

  watch.update(0, {-1, POLLIN, INT64_MAX}, 0);
  watch.update(1, {ours.get(), POLLIN, 500}, 1);
  CHECK(watch.take_ready(100).empty());
  CHECK(watch.interest(INT64_MAX).deadline == 500);
  CHECK(watch.interest(200).deadline == 200);

  watch.touch(2);
  watch.touch(2);
  CHECK(watch.interest(INT64_MAX).deadline == 0);
  CHECK(watch.take_ready(100) == std::vector<uint32_t>{2});
  CHECK(watch.take_ready(100).empty());

  REQUIRE(write(theirs.get(), "x", 1) == 1);
  CHECK(watch.take_ready(100) == std::vector<uint32_t>{1});
  char byte;
  REQUIRE(read(ours.get(), &byte, 1) == 1);

  // A time that moves to later stays in the queue, and is then found too early once.
  watch.update(1, {ours.get(), POLLIN, 900}, 1);
  CHECK(watch.take_ready(500) == std::vector<uint32_t>{1});
  watch.update(1, {ours.get(), POLLIN, 900}, 1);
  CHECK(watch.take_ready(899).empty());
  watch.update(1, {ours.get(), POLLIN, 600}, 1);  // to earlier
  CHECK(watch.take_ready(899) == std::vector<uint32_t>{1});
  CHECK(watch.take_ready(1000).empty());
}

TEST_CASE("coarse times are at most half above the truth") {
  CoarseTimes times;
  CHECK(times.quantile(0.5) == 0);
  for (int64_t ns = 1000; ns < 60'000'000'000; ns = ns * 7 / 5) {
    CoarseTimes one;
    one.add(ns);
    CAPTURE(ns);
    CHECK(one.quantile(1) >= ns);
    CHECK(one.quantile(1) <= ns + ns / 2 + 1024);
  }
  for (int i = 0; i < 99; ++i) times.add(10'000);
  times.add(9'000'000);
  CHECK(times.count() == 100);
  CHECK(times.quantile(0.99) < 20'000);
  CHECK(times.quantile(1) >= 9'000'000);
  CoarseTimes earlier = times;
  times.add(10'000);
  times.subtract(earlier);
  CHECK(times.count() == 1);
}

TEST_CASE("a report on clients names the slowest, and says how fair the server was") {
  std::vector<ClientFigures> clients(4);
  for (ClientFigures& c : clients) c.set_up = 2'000'000;
  for (int i = 0; i < 300; ++i) clients[0].times.add(1'000'000);
  for (int i = 0; i < 100; ++i) clients[2].times.add(50'000'000);
  clients[2].lost_leases = 1;
  clients[3].is_down = true;
  const ClientsSection section(clients, 1'000'000'000);
  nlohmann::json document;
  section.json(document);
  const nlohmann::json& all = document["clients"];
  CHECK(all["set_up"] == 4);
  CHECK(all["used"] == 2);
  CHECK(all["down"] == 1);
  CHECK(all["leases_lost"] == 1);
  CHECK(all["slowest"][0]["client"] == 2);
  CHECK(all["slowest"][0]["per_s"] == 100);
  CHECK(all["fairness"] == Approx(0.8));  // 400² / (2 · (300² + 100²))
  CHECK(section.text().find("4 set up") != std::string::npos);
  CHECK(section.text().find("slowest by p99: 2 (") != std::string::npos);
}

TEST_CASE("a table of tags grows with the requests in flight") {
  struct Call final : wire::Exchange {
    void replied(std::span<const uint8_t>) override {}
    void failed(int) override {}
  };
  wire::TagTable tags(300, 32, 0xfffffff0);  // the tags wrap around
  std::vector<Call> calls(300);
  for (Call& call : calls) tags.add(&call);
  CHECK(tags.full());
  for (Call& call : calls) CHECK(tags.find(call.tag()) == &call);
  for (size_t i = 0; i < calls.size(); i += 2) tags.remove(&calls[i]);
  CHECK(tags.used() == 150);
  for (size_t i = 1; i < calls.size(); i += 2) CHECK(tags.find(calls[i].tag()) == &calls[i]);
  CHECK(tags.find(calls[0].tag()) == nullptr);
}

TEST_CASE("the locks of an owner on a file stay at one client while it has some or asks for some") {
  LockHomes homes;
  std::vector<uint32_t> holders;
  auto holds = [&](uint32_t client) { return std::find(holders.begin(), holders.end(), client) != holders.end(); };
  CHECK(homes.begin(1, 7, 2, holds) == 2);
  CHECK(homes.begin(1, 7, 0, holds) == 2);  // while the first request is under way
  CHECK(homes.begin(1, 8, 0, holds) == 0);
  CHECK(homes.begin(5, 7, 1, holds) == 1);
  homes.end(1, 7, holds);
  holders = {2};
  homes.end(1, 7, holds);
  CHECK(homes.begin(1, 7, 1, holds) == 2);
  homes.end(1, 7, holds);
  holders.clear();  // the locks ended with their open instance
  CHECK(homes.begin(1, 7, 1, holds) == 1);
  homes.end(1, 7, holds);
  homes.end(1, 8, holds);
  homes.end(5, 7, holds);
  CHECK(homes.size() == 0);
}
