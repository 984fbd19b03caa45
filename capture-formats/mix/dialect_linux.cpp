// SPDX-License-Identifier: Apache-2.0
// nfsstat of nfs-utils: "Server nfs v3:", then rows of names above rows of counts. A row has 5 cells of 17 columns since version
// 1.1, and 6 cells of 11 or 13 before. --list prints one counter a line.
#include <fmt/format.h>

#include "mix/dialect.hpp"

namespace fsr::mix {

namespace {

constexpr std::string_view kLinuxHeads[] = {"Server nfs v", "Client nfs v"};
constexpr std::string_view kListHeads[] = {"nfs v2 server ", "nfs v3 server ", "nfs v4 server ", "nfs v4 servop ",
                                           "nfs v2 client ", "nfs v3 client ", "nfs v4 client "};

// "Server nfs v4 operations:".
bool parse_head(std::string_view line, unsigned* version, bool* client) {
  const auto list = words(line);
  if (list.size() < 3 || list[1] != "nfs" || list[2].size() < 2 || list[2][0] != 'v') return false;
  if (list[0] != "Server" && list[0] != "Client") return false;
  *client = list[0] == "Client";
  *version = unsigned(list[2][1] - '0');
  return *version >= 2 && *version <= 4;
}

// Version 4 of a server has two blocks: how many COMPOUNDs there were ranks their operations.
void rank_operations(std::vector<Block>& blocks, uint64_t compounds) {
  for (Block& block : blocks)
    if (block.nfs_version == 4 && !block.client && compounds > 0) block.rank = compounds;
}

std::vector<Block> parse_linux(const Lines& lines) {
  std::vector<Block> blocks;
  uint64_t compounds = 0;
  for (size_t at = 0; at < lines.size();) {
    unsigned version = 0;
    bool client = false;
    if (!parse_head(lines[at], &version, &client)) {
      ++at;
      continue;
    }
    const size_t head = at++;
    if (at >= lines.size()) lines.fail(head, "unexpected EOF after 'nfs:'");
    const auto names = words(lines[at]);
    if (version == 4 && names.size() == 2 && names[1] == "compound") {
      std::vector<uint64_t> counts;
      if (at + 1 >= lines.size()) lines.fail(at, "unexpected EOF: the counts are missing");
      if (!parse_counts(lines[at + 1], &counts) || counts.size() != 2)
        lines.fail(at + 1, "can't find 2 op values: expected one count for each name above");
      compounds = counts[1];
      at += 2;
      continue;
    }
    Block block(version, client, "Linux nfsstat", head);
    at = add_rows(lines, at, block);
    if (version < 4 && block.first_missing())
      lines.fail(at, fmt::format("unexpected EOF: '{}' is missing", block.first_missing()));
    if (block.found == std::vector<bool>(block.found.size()))
      lines.fail(head + 1, "expected rows of procedures' names, such as getattr, found none");
    blocks.push_back(std::move(block));
  }
  rank_operations(blocks, compounds);
  return blocks;
}

std::vector<Block> parse_list(const Lines& lines) {
  std::vector<Block> blocks;
  uint64_t compounds = 0;
  // Lines of one block follow each other, after one with the total.
  Block* block = nullptr;
  uint64_t total = 0;
  auto end_block = [&](size_t at) {
    if (block && block->sum() != total && block->notes.empty())
      lines.fail(at, fmt::format("the procedures above sum to {}, not to their total of {}", block->sum(), total));
    block = nullptr;
  };
  size_t at = 0;
  for (; at < lines.size(); ++at) {
    if (!any_line_begins(lines[at], kListHeads)) continue;
    const auto list = words(lines[at]);
    uint64_t count = 0;
    if (list.size() != 5 || list[3].back() != ':' || !parse_number(list[4], &count))
      lines.fail(at, "can't find 'NAME: COUNT' after the version");
    const std::string_view name = list[3].substr(0, list[3].size() - 1);
    const unsigned version = unsigned(list[1][1] - '0');
    const bool client = list[2] == "client";
    if (version == 4 && list[2] == "server") {
      if (name == "compound") compounds = count;
      continue;
    }
    if (name == "total") {
      end_block(at);
      blocks.emplace_back(version, client, "Linux nfsstat --list", at);
      block = &blocks.back();
      total = count;
    } else if (!block || block->nfs_version != version || block->client != client) {
      lines.fail(at, "the line with 'total:' is missing above");
    } else {
      block->add(name, count, lines, at);
    }
  }
  end_block(at);
  rank_operations(blocks, compounds);
  return blocks;
}

}  // namespace

const Dialect kLinux{"Linux nfsstat", [](std::string_view text) { return any_line_begins(text, kLinuxHeads); }, parse_linux};
const Dialect kLinuxList{"Linux nfsstat --list", [](std::string_view text) { return any_line_begins(text, kListHeads); },
                         parse_list};

}  // namespace fsr::mix
