// SPDX-License-Identifier: Apache-2.0
// Which ranks work for which host of a parameter file. Constant once made.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

class RankHosts {
 public:
  // No hosts are told apart: each rank may do all work.
  RankHosts(unsigned ranks = 1) : hosts_(ranks) {}
  // `machines`: name of the machine of each rank. `map`: machines that the user gives for names of hosts. A host has the ranks of
  // its machine, by name; localhost is the machine of rank 0. Hosts whose machine has no rank take the other machines in order,
  // or the only machine. Hosts on one machine divide its ranks: first their jvms=, then in turn. Throws std::runtime_error if a
  // host has no rank, or a rank has no host.
  RankHosts(const std::vector<Host>& hosts, const std::vector<std::string>& machines,
            const std::map<std::string, std::string>& map);

  // Returns the ranks that may work for one of these hosts, in ascending order. Empty list: all hosts.
  std::vector<unsigned> ranks_of(const HostNumbers& hosts) const;
  // Returns this rank's position among those ranks. None: it is not one of them.
  std::optional<unsigned> position(const HostNumbers& hosts, unsigned rank) const;
  std::optional<size_t> host_of(unsigned rank) const { return hosts_[rank]; }  // none: hosts are not told apart
  bool first_of_host(unsigned rank) const;  // true also if hosts are not told apart, for rank 0

 private:
  std::vector<std::optional<size_t>> hosts_;  // by rank
};

// A host of the pages, and its ranks in ascending order. `number`: of its hd=; none: it has no hd=.
struct HostRanks {
  std::string name;
  std::optional<size_t> number;
  std::vector<unsigned> ranks;
};
std::string slave_name(const HostRanks& host, size_t i);  // name of its rank number `i`: "hd1-0"
// True if the host is one of `hosts`, an empty list of which means all.
bool is_among(const HostRanks& host, const HostNumbers& hosts);
// Returns the hosts in the order of their first ranks. Their names are those of hd=. Without hd=, they are those of the machines,
// or localhost if there is one machine; so is a single process that stands for several hd=.
std::vector<HostRanks> hosts_of_ranks(const RankHosts& of, const std::vector<Host>& hosts,
                                      const std::vector<std::string>& machines);
// Returns the command that starts the ranks of these hosts: "mpirun -np 2 --host a:1,b:1 `command`".
std::string launch_command(const std::vector<Host>& hosts, const std::string& command);
// Returns the machine of each rank that these hosts ask for.
std::vector<std::string> machines_of(const std::vector<Host>& hosts);
// True if a host is not the machine `own`.
bool other_machines(const std::vector<Host>& hosts, const std::string& own);

}  // namespace fsr::vdbench
