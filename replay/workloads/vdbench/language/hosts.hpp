// SPDX-License-Identifier: Apache-2.0
// Hosts that a file names by hd=, and host= of other definitions. Without hd=, there is one host, localhost.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

class Hosts {
 public:
  // All throw ParameterError.
  // Defines hd=. `mistakes`: gets those of its parameters; the host is known by its name all the same.
  void define(const Statement& statement, Mistakes& mistakes);
  // Returns the hosts that host= or hd= names.
  HostNumbers numbers(const Parameter& parameter) const;
  // Takes host= and lun= out of an SD that has several of both, and returns them in pairs, in their order. The first lun= stays.
  std::vector<std::pair<HostNumbers, std::string>> take_luns(Statement& storage) const;
  // Returns the statement. A storage or workload with $host, !host or #host: once for each host, with its name, its name or its
  // number from 0. Replaces #hosts, the number of hosts, also in RDs.
  std::vector<Statement> repeat(const Statement& statement);

  // Throws for a command of mount= that can't take the options of mount= of an RD.
  void check_remount() const;

  const std::vector<Host>& all() const { return hosts_; }  // all hd=

 private:
  void add(const Host& host);
  std::vector<std::string> names() const;  // of all hosts, then localhost if no hd= has this name

  std::vector<Host> hosts_;
  size_t named_ = 0;  // number of hosts in front of the clients that come after all hosts
  Host default_;
};

std::vector<std::string> words_of(const std::string& command);  // separated by blanks
// True for host= and hd= of a definition.
bool names_hosts(const Parameter& parameter);
// Returns the hosts that both lists have. None: there are none.
std::optional<HostNumbers> common_hosts(const HostNumbers& a, const HostNumbers& b);

}  // namespace fsr::vdbench
