// SPDX-License-Identifier: Apache-2.0
#include "op_kinds.hpp"

#include <stdexcept>

#include "util/nearest.hpp"

namespace fsr {

std::vector<std::string> op_kind_names() {
  std::vector<std::string> names;
  for (unsigned kind = 0; kind < kOpKinds; ++kind) names.push_back(op_name(OpKind(kind)));
  return names;
}

OpKind op_kind_named(std::string_view name) {
  OpKind kind;
  if (!op_from_name(name, &kind)) throw std::invalid_argument("no such kind of operation; " + choices(name, op_kind_names()));
  return kind;
}

}  // namespace fsr
