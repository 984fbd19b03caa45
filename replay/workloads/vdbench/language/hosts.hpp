// SPDX-License-Identifier: Apache-2.0
// Hosts that a file names: all of them have to be this one, as all load comes from this process.
#pragma once

#include <string>
#include <vector>

#include "workloads/vdbench/language/source_text.hpp"

namespace fsr::vdbench {

struct Host {
  std::string name;
  std::string system;  // its name or address; empty: its name is that
  SourcePosition system_place;
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
