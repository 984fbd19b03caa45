// SPDX-License-Identifier: Apache-2.0
// Tests what a target with many clients uses: who has something to do, what each did, and the table of tags that grows.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>

#include "base/client_figures.hpp"
#include "base/restart_figures.hpp"
#include "catch.hpp"
#include "cli/rank_clients.hpp"
#include "report/clients_section.hpp"
#include "targets/client_share.hpp"
#include "targets/client_watch.hpp"
#include "targets/lock_homes.hpp"
#include "targets/wire/tag_table.hpp"

namespace fsr::clients_test {

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

TEST_CASE("locks that end with the last open file leave no home behind") {
  LockHomes homes;
  bool open = true;
  for (const uint64_t owner : {7, 8}) {
    homes.begin(1, owner, 2, [](uint32_t) { return false; });
    homes.end(1, owner, [](uint32_t) { return true; });
  }
  homes.begin(1, 9, 2, [](uint32_t) { return false; });  // under way
  homes.begin(2, 7, 2, [](uint32_t) { return false; });
  homes.end(2, 7, [](uint32_t) { return true; });
  const auto holds = [&](uint64_t owner, uint32_t) { return open && owner == 8; };
  homes.closed(1, holds);
  CHECK(homes.size() == 3);
  open = false;
  homes.closed(1, holds);
  CHECK(homes.size() == 2);
  homes.end(1, 9, [](uint32_t) { return false; });
  CHECK(homes.size() == 1);
}

TEST_CASE("ranks share the clients of a target by their numbers") {
  auto share = [](const std::string& url) { return ClientShare::of(wire::parse_url(url)); };
  const std::string url = "nfs://host/export?version=4.1&clients=10";
  CHECK(share(url).clients == 10);
  CHECK(share(url).is_one_of_many());
  CHECK_FALSE(share("9p://host/").is_one_of_many());
  std::vector<uint32_t> numbers;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const ClientShare its = share(with_client_share(url, rank, 4));
    CHECK(its.clients == (rank < 2 ? 3 : 2));
    for (uint32_t k = 0; k < its.clients; ++k) numbers.push_back(its.number(k));
  }
  std::sort(numbers.begin(), numbers.end());
  for (uint32_t k = 0; k < 10; ++k) CHECK(numbers.at(k) == k);
  CHECK(share(with_client_share("9p://host/?clients=4", 3, 4)).is_one_of_many());
  for (const char* alone : {"9p://host/?clients=1", "nfs://host/export", "file:/a?clients=2"})
    CHECK(with_client_share(alone, 1, 4) == alone);
  CHECK_THROWS_WITH(share(with_client_share(url, 0, 11)), contains_text("fewer than the 11 ranks"));
  for (const char* bad : {"4/4", "1", "1/x", "x/2", "1/2/3"})
    CHECK_THROWS_WITH(share(url + "&client-share=" + bad), contains_text("client-share="));
}

TEST_CASE("the report on clients of several ranks is merged from theirs") {
  std::vector<ClientFigures> clients(2);
  for (int i = 0; i < 100; ++i) clients[1].times.add(3'000'000);
  clients[0].is_down = true;
  clients[1].reconnects = 4;
  auto report_of = [&](const RestartFigures& restart) {
    Report report;
    report.result.elapsed = 1'000'000'000;
    report.sections.push_back(std::make_shared<ClientsSection>(clients, report.result.elapsed, restart));
    return report;
  };
  const Report other = report_of({.clients = 2, .back = 1, .first = 5, .last = 5, .old_rate = 9});
  Report root = report_of({.clients = 1, .back = 1, .first = 7, .last = 7, .old_rate = 8});
  RankClients all(root, 3);
  CHECK(all.merge(RankClients(other, 3).save(), 2));
  CHECK_FALSE(RankClients(root, 3).merge(RankClients(other, 3).save().substr(1), 2));
  all.give_to(root);
  REQUIRE(root.sections.size() == 1);
  nlohmann::json document;
  root.sections[0]->json(document);
  const nlohmann::json& merged = document["clients"];
  CHECK(merged["set_up"] == 4);
  CHECK(merged["used"] == 2);
  CHECK(merged["down"] == 2);
  CHECK(merged["reconnects"] == 8);
  CHECK(merged["slowest"][0]["client"] == 3);
  CHECK(merged["slowest"][1]["client"] == 5);
  CHECK(merged["restart"] ==
        nlohmann::json{{"forgotten", 3}, {"back", 2}, {"first_back_ns", 5}, {"last_back_ns", 7}, {"old_rate_ns", 9}});
}

TEST_CASE("a restart of the server is measured from its last reply before") {
  constexpr int64_t kStep = EndedOverTime::kStep;
  EndedOverTime ended;
  ended.begin(1000);
  auto busy = [&](int64_t from, int64_t to, int each) {
    for (int64_t step = from; step < to; ++step)
      for (int i = 0; i < each; ++i) ended.add(1000 + step * kStep + i);
  };
  busy(0, 50, 10);
  busy(80, 85, 3);
  const int64_t at = 1000 + 50 * kStep;
  CHECK(ended.until_old_rate(at) == 0);
  busy(85, 120, 10);
  CHECK(ended.until_old_rate(at) == 44 * kStep);  // a second from step 84 on has nine tenths

  std::vector<ClientFigures> clients(4);
  CHECK(restart_of(clients, ended).clients == 0);
  clients[0].heard = at - 5;
  clients[0].back = at + 300;
  clients[1].heard = at;
  clients[1].back = at + 700;
  clients[2].heard = at - 9;
  const RestartFigures restart = restart_of(clients, ended);
  CHECK(restart.clients == 3);
  CHECK(restart.back == 2);
  CHECK(restart.first == 300);
  CHECK(restart.last == 700);
  CHECK(restart.old_rate == 44 * kStep);
}

}  // namespace fsr::clients_test
