// SPDX-License-Identifier: Apache-2.0
#include "targets/posix_acl.hpp"

#include <string>
#include <utility>

#include "catch.hpp"

namespace fsr::posix_acl_test {

static std::string acl(std::initializer_list<std::pair<int, int>> entries, char version = 2) {
  std::string text{version, 0, 0, 0};
  for (auto [tag, perm] : entries) text += std::string{char(tag), 0, char(perm), 0, '\xff', '\xff', '\xff', '\xff'};
  return text;
}

TEST_CASE("an access list that only repeats permission bits is a mode") {
  std::string plain = acl({{1, 6}, {4, 4}, {0x20, 0}});
  Op op{.kind = OpKind::setxattr, .name = "system.posix_acl_access", .data = plain};
  CHECK(mode_of_minimal_acl(op) == 0640u);

  op.name = "system.posix_acl_default";
  CHECK_FALSE(mode_of_minimal_acl(op));
  op.name = "system.posix_acl_access";
  for (const std::string& other :
       {acl({{1, 6}, {2, 7}, {4, 4}, {0x10, 7}, {0x20, 0}}), acl({{1, 6}, {4, 4}, {0x20, 0}}, 1),
        acl({{4, 6}, {1, 4}, {0x20, 0}}), acl({{1, 6}, {4, 4}, {0x20, 9}}), plain.substr(1), std::string()}) {
    op.data = other;
    CHECK_FALSE(mode_of_minimal_acl(op));
  }
}

}  // namespace fsr::posix_acl_test
