// SPDX-License-Identifier: Apache-2.0
// Hosts that a file names. All of them must be this host, because all load comes from this process.
#pragma once

#include <string>
#include <vector>

#include "workloads/vdbench/language/source_text.hpp"

namespace fsr::vdbench {

struct Host {
  std::string name;
  std::string system;  // name or address; empty: the same as `name`
  SourcePosition system_position;
};

class Hosts {
 public:
  // Both throw ParameterError.
  void define(const Statement& statement);       // hd=
  void check(const Statement& statement) const;  // host= of another section
  // Returns the statement. A storage or workload with $host, !host or #host: once for each host, with its name, its name or its
  // number from 0. Replaces #hosts, the number of hosts, also in RDs.
  std::vector<Statement> repeat(const Statement& statement) const;

 private:
  std::vector<std::string> names_ = {"localhost"};  // then those of hd=
  Host default_;
};

}  // namespace fsr::vdbench
