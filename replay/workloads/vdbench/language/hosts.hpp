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

 private:
  std::vector<std::string> names_ = {"localhost"};
  Host default_;
};

}  // namespace fsr::vdbench
