// SPDX-License-Identifier: Apache-2.0
#include "report/clients_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "util/units.hpp"

namespace fsr {

constexpr size_t kNamed = 10;  // slowest clients that are named

ClientsSection::Quantiles ClientsSection::quantiles(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  auto at = [&](double q) { return values[std::min(values.size() - 1, size_t(q * double(values.size())))]; };
  return {at(0.01), at(0.5), at(0.99), values.back()};
}

ClientsSection::ClientsSection(std::vector<ClientFigures> clients, int64_t duration, const RestartFigures& restart,
                               std::vector<uint32_t> numbers)
    : clients_(std::move(clients)), restart_(restart), numbers_(std::move(numbers)), duration_(duration) {
  std::vector<double> set_up, rates, p99;
  double sum = 0, squares = 0;
  for (uint32_t k = 0; k < clients_.size(); ++k) {
    const ClientFigures& c = clients_[k];
    down_ += c.is_down;
    reconnects_ += c.reconnects;
    lost_leases_ += c.lost_leases;
    failed_ += c.failed;
    if (c.set_up) set_up.push_back(double(c.set_up));  // 0: the first one of a process, which also finds the export
    if (!c.times.count() && !c.failed) continue;
    ++used_;
    rates.push_back(rate(c));
    p99.push_back(double(c.times.quantile(0.99)));
    sum += rates.back();
    squares += rates.back() * rates.back();
    slowest_.push_back(k);
  }
  set_up_ = quantiles(std::move(set_up));
  rates_ = quantiles(std::move(rates));
  p99_ = quantiles(std::move(p99));
  if (squares > 0) fairness_ = sum * sum / (double(used_) * squares);
  const size_t named = std::min(kNamed, slowest_.size());
  auto slower = [&](uint32_t a, uint32_t b) {
    const CoarseTimes &one = clients_[a].times, &other = clients_[b].times;
    const int64_t p99_one = one.quantile(0.99), p99_other = other.quantile(0.99);
    return p99_one != p99_other ? p99_one > p99_other : one.count() < other.count();
  };
  std::partial_sort(slowest_.begin(), slowest_.begin() + ptrdiff_t(named), slowest_.end(), slower);
  slowest_.resize(named);
}

double ClientsSection::rate(const ClientFigures& client) const {
  return duration_ > 0 ? double(client.times.count()) * 1e9 / double(duration_) : 0;
}

std::string ClientsSection::text() const {
  auto time = [](double ns) { return format_duration(int64_t(ns)); };
  std::string out =
      fmt::format("clients    {} set up, each in {} (p50), {} (p99), {} at most; {} with operations\n",
                  format_count(clients_.size()), time(set_up_.p50), time(set_up_.p99), time(set_up_.p100), format_count(used_));
  if (used_)
    out += fmt::format(
        "           {:.1f} op/s each (p50), {:.1f} to {:.1f} (p1 to p99), fairness {:.3f}; p99 {} (p50 of clients), {} "
        "(p99 of clients)\n",
        rates_.p50, rates_.p1, rates_.p99, fairness_, time(p99_.p50), time(p99_.p99));
  if (down_ + reconnects_ + lost_leases_ + failed_)
    out += fmt::format("           {} down at the end, {} reconnects, {} leases lost, {} operations without an answer\n",
                       format_count(down_), format_count(reconnects_), format_count(lost_leases_), format_count(failed_));
  if (down_)
    out +=
        "           clients that are down: does the server limit connections? NFS-Ganesha: RPC_Max_Connections, LimitNOFILE=\n";
  if (restart_.clients) {
    out += fmt::format("           {} forgotten by the server, {} of them came back", format_count(restart_.clients),
                       format_count(restart_.back));
    if (restart_.back)
      out += fmt::format(": the first {}, the last {} after its last reply", time(double(restart_.first)),
                         time(double(restart_.last)));
    out += restart_.old_rate ? fmt::format("; the old rate {} after it\n", time(double(restart_.old_rate)))
                             : "; the old rate was not reached again\n";
  }
  if (used_ > 1) {
    out += "           slowest by p99:";
    for (uint32_t k : slowest_)
      out +=
          fmt::format("{} {} ({})", k == slowest_.front() ? "" : ",", number(k), time(double(clients_[k].times.quantile(0.99))));
    out += "\n";
  }
  return out;
}

void ClientsSection::json(nlohmann::json& document) const {
  auto times = [](const Quantiles& q) {
    return nlohmann::json{{"p50_ns", int64_t(q.p50)}, {"p99_ns", int64_t(q.p99)}, {"max_ns", int64_t(q.p100)}};
  };
  nlohmann::json slowest = nlohmann::json::array();
  for (uint32_t k : slowest_)
    slowest.push_back({{"client", number(k)}, {"per_s", rate(clients_[k])}, {"p99_ns", clients_[k].times.quantile(0.99)}});
  document["clients"] = {{"set_up", clients_.size()},
                         {"used", used_},
                         {"down", down_},
                         {"reconnects", reconnects_},
                         {"leases_lost", lost_leases_},
                         {"unanswered", failed_},
                         {"time_to_set_up", times(set_up_)},
                         {"per_s", {{"p1", rates_.p1}, {"p50", rates_.p50}, {"p99", rates_.p99}}},
                         {"p99", times(p99_)},
                         {"fairness", fairness_},
                         {"slowest", slowest}};
  if (restart_.clients)
    document["clients"]["restart"] = {{"forgotten", restart_.clients},
                                      {"back", restart_.back},
                                      {"first_back_ns", restart_.first},
                                      {"last_back_ns", restart_.last},
                                      {"old_rate_ns", restart_.old_rate}};
}

void ClientsSection::database(ResultsDatabase& db) const {
  for (uint32_t k = 0; k < clients_.size(); ++k) {
    const ClientFigures& c = clients_[k];
    db.add("clients", {{"client", int64_t(number(k))},
                       {"set_up_ns", c.set_up},
                       {"operations", int64_t(c.times.count())},
                       {"per_s", rate(c)},
                       {"p50_ns", c.times.quantile(0.5)},
                       {"p99_ns", c.times.quantile(0.99)},
                       {"unanswered", int64_t(c.failed)},
                       {"reconnects", int64_t(c.reconnects)},
                       {"leases_lost", int64_t(c.lost_leases)},
                       {"down", int64_t(c.is_down)}});
  }
}

}  // namespace fsr
