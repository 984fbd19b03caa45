// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/plan/rank_hosts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace fsr::vdbench {

namespace {

const std::string& machine_of(const Host& host) { return host.system.empty() ? host.name : host.system; }

std::string first_label(const std::string& name) { return name.substr(0, name.find('.')); }

bool is_local(const std::string& name) { return begins_word(name, "localhost") || name == "127.0.0.1" || name == "::1"; }

// True if both name one machine, with or without its domain.
bool same_machine(const std::string& wanted, const std::string& machine, const std::string& of_root) {
  const std::string& name = is_local(wanted) ? of_root : wanted;
  return same_word(name, machine) || same_word(first_label(name), machine) || same_word(name, first_label(machine));
}

}  // namespace

RankHosts::RankHosts(const std::vector<Host>& hosts, const std::vector<std::string>& machines,
                     const std::map<std::string, std::string>& map)
    : hosts_(machines.size()) {
  for (const auto& given : map)
    if (std::ranges::none_of(hosts, [&](const Host& host) { return same_word(host.name, given.first); }))
      throw_error("--map {}={}: no hd= has this name", given.first, given.second);
  std::vector<std::string> distinct;
  for (const std::string& machine : machines)
    if (std::ranges::find(distinct, machine) == distinct.end()) distinct.push_back(machine);
  std::vector<std::vector<size_t>> of_machine(distinct.size());  // hosts
  std::vector<size_t> unmatched;
  for (size_t h = 0; h < hosts.size(); ++h) {
    const auto given = std::ranges::find_if(map, [&](const auto& one) { return same_word(one.first, hosts[h].name); });
    const std::string& wanted = given == map.end() ? machine_of(hosts[h]) : given->second;
    const auto at =
        std::ranges::find_if(distinct, [&](const auto& machine) { return same_machine(wanted, machine, machines[0]); });
    if (at != distinct.end())
      of_machine[size_t(at - distinct.begin())].push_back(h);
    else if (given != map.end())
      throw_error("--map {}={}: no rank runs on this machine, expected one of {}", hosts[h].name, wanted,
                  fmt::join(distinct, ", "));
    else
      unmatched.push_back(h);
  }
  auto next = unmatched.begin();
  for (auto& its : of_machine)
    if (its.empty() && next != unmatched.end()) its.push_back(*next++);
  if (distinct.size() == 1)
    of_machine[0].insert(of_machine[0].end(), next, unmatched.end());
  else if (next != unmatched.end())
    throw_error("hd={}: no rank runs on {}, and each of {} has a host; expected --map {}=MACHINE", hosts[*next].name,
                machine_of(hosts[*next]), fmt::join(distinct, ", "), hosts[*next].name);
  for (size_t m = 0; m < distinct.size(); ++m) {
    std::vector<size_t> turns;
    for (size_t h : of_machine[m]) turns.push_back(h);
    for (size_t h : of_machine[m]) turns.insert(turns.end(), hosts[h].jvms - 1, h);
    size_t turn = 0;
    for (unsigned rank = 0; rank < machines.size(); ++rank) {
      if (machines[rank] != distinct[m]) continue;
      if (turns.empty()) throw_error("rank {} on {} belongs to no hd=; expected --map HD={}", rank, distinct[m], distinct[m]);
      hosts_[rank] = turn < turns.size() ? turns[turn] : of_machine[m][turn % of_machine[m].size()];
      ++turn;
    }
    for (size_t h : of_machine[m])
      if (std::ranges::find(hosts_, std::optional(h)) == hosts_.end())
        throw_error("hd={}: {} has fewer ranks than hosts, expected {} or more", hosts[h].name, distinct[m],
                    of_machine[m].size());
  }
}

std::vector<unsigned> RankHosts::ranks_of(const HostNumbers& hosts) const {
  std::vector<unsigned> ranks;
  for (unsigned rank = 0; rank < hosts_.size(); ++rank)
    if (hosts.empty() || !hosts_[rank] || std::ranges::find(hosts, *hosts_[rank]) != hosts.end()) ranks.push_back(rank);
  return ranks;
}

std::optional<unsigned> RankHosts::position(const HostNumbers& hosts, unsigned rank) const {
  const std::vector<unsigned> ranks = ranks_of(hosts);
  const auto at = std::ranges::find(ranks, rank);
  return at == ranks.end() ? std::nullopt : std::optional(unsigned(at - ranks.begin()));
}

bool RankHosts::first_of_host(unsigned rank) const { return std::ranges::find(hosts_, hosts_[rank]) == hosts_.begin() + rank; }

std::vector<HostRanks> hosts_of_ranks(const RankHosts& of, const std::vector<Host>& hosts,
                                      const std::vector<std::string>& machines) {
  const bool one_machine = std::ranges::all_of(machines, [&](const std::string& machine) { return machine == machines[0]; });
  std::vector<HostRanks> all;
  for (unsigned rank = 0; rank < machines.size(); ++rank) {
    std::string name = one_machine ? "localhost" : machines[rank];
    if (const std::optional<size_t> host = of.host_of(rank)) name = hosts[*host].name;
    if (machines.size() == 1 && hosts.size() == 1) name = hosts[0].name;
    auto its = std::ranges::find(all, name, &HostRanks::name);
    if (its == all.end()) its = all.insert(its, {.name = name, .number = of.host_of(rank), .ranks = {}});
    its->ranks.push_back(rank);
  }
  return all;
}

std::string slave_name(const HostRanks& host, size_t i) { return fmt::format("{}-{}", host.name, i); }

bool is_among(const HostRanks& host, const HostNumbers& hosts) {
  return hosts.empty() || !host.number || std::ranges::find(hosts, *host.number) != hosts.end();
}

std::string launch_command(const std::vector<Host>& hosts, const std::string& command) {
  unsigned ranks = 0;
  std::vector<std::pair<std::string, unsigned>> machines;
  for (const Host& host : hosts) {
    ranks += host.jvms;
    const std::string& name = machine_of(host);
    const auto at = std::ranges::find(machines, name, &std::pair<std::string, unsigned>::first);
    if (at == machines.end())
      machines.emplace_back(name, host.jvms);
    else
      at->second += host.jvms;
  }
  std::string list;
  for (const auto& [name, count] : machines) list += fmt::format("{}{}:{}", list.empty() ? "" : ",", name, count);
  return fmt::format("mpirun -np {} --host {} {}", ranks, list, command);
}

std::vector<std::string> machines_of(const std::vector<Host>& hosts) {
  std::vector<std::string> machines;
  for (const Host& host : hosts)
    machines.insert(machines.end(), host.jvms, machine_of(is_local(machine_of(host)) ? hosts[0] : host));
  return machines;
}

bool other_machines(const std::vector<Host>& hosts, const std::string& own) {
  return std::ranges::any_of(hosts, [&](const Host& host) { return !same_machine(machine_of(host), own, own); });
}

}  // namespace fsr::vdbench
