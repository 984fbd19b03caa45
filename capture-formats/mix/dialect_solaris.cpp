// SPDX-License-Identifier: Apache-2.0
// nfsstat of Solaris 2.5 and later, illumos and AIX: "Version 3: (100000 calls)" and rows of names above rows of counts, below
// "Server nfs:" (one for all versions, up to Solaris 9) or "Server NFSv3:".
#include <fmt/format.h>

#include "mix/dialect.hpp"

namespace fsr::mix {

namespace {

constexpr std::string_view kSolarisHeads[] = {"Version 2: (", "Version 3: (", "Version 4: ("};

std::vector<Block> parse_solaris(const Lines& lines) {
  std::vector<Block> blocks;
  uint64_t compounds[2] = {0, 0};
  bool client = false, acl = false;
  for (size_t at = 0; at < lines.size();) {
    const auto list = words(lines[at]);
    if (!list.empty() && (list[0] == "Server" || list[0] == "Client")) {
      client = list[0] == "Client";
      acl = list.size() > 1 && list[1].starts_with("nfs_acl");
    }
    if (!any_line_begins(lines[at], kSolarisHeads)) {
      ++at;
      continue;
    }
    // nfs_acl is a protocol of its own, with versions 2 and 3.
    if (acl) {
      at += 1;
      continue;
    }
    const size_t head = at++;
    uint64_t calls = 0;
    const unsigned version = unsigned(list[1][0] - '0');
    if (list.size() != 4 || !parse_number(list[2].substr(1), &calls) || (list[3] != "calls)" && list[3] != "operations)"))
      lines.fail(head, "can't find 'calls' value");
    if (at >= lines.size()) lines.fail(head, "unexpected EOF after 'calls'");
    if (version == 4 && list[3] == "calls)" && words(lines[at]).size() == 2) {
      std::vector<uint64_t> counts;
      if (at + 1 >= lines.size()) lines.fail(at, "unexpected EOF: the counts are missing");
      if (!parse_counts(lines[at + 1], &counts) || counts.size() != 2)
        lines.fail(at + 1, "can't find 2 op values: expected one count for each name above");
      compounds[client] = counts[1];
      at += 2;
      continue;
    }
    Block block(version, client, "Solaris nfsstat", head);
    block.printed_calls = calls;
    at = add_rows(lines, at, block);
    if (version < 4 && block.first_missing())
      lines.fail(at, fmt::format("unexpected EOF: '{}' is missing", block.first_missing()));
    if (version == 4 && block.found == std::vector<bool>(block.found.size()))
      lines.fail(head + 1, "expected rows of operations' names, such as getattr, found none");
    blocks.push_back(std::move(block));
  }
  for (Block& block : blocks)
    if (block.nfs_version == 4 && compounds[block.client] > 0) block.rank = compounds[block.client];
  return blocks;
}

}  // namespace

const Dialect kSolaris{"Solaris nfsstat", [](std::string_view text) { return any_line_begins(text, kSolarisHeads); },
                       parse_solaris};

}  // namespace fsr::mix
