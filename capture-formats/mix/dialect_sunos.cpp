// SPDX-License-Identifier: Apache-2.0
// nfsstat of SunOS 4 and 4.3BSD, for which nhfsstone was made. "Server nfs:" is followed by a line of names, and by one of
// numbers that begins with the number of calls. Then come 7, 7 and 4 procedures of version 2. IRIX and others print a version as
// well: "Server NFS V3:".
#include <fmt/format.h>

#include "mix/dialect.hpp"

namespace fsr::mix {

namespace {

constexpr std::string_view kSunOsHeads[] = {
    "Server nfs:", "Client nfs:", "Server NFS:", "Client NFS:", "Server NFS V", "Client NFS V"};

bool is_head(std::string_view line) { return any_line_begins(line, kSunOsHeads); }

bool is_sunos(std::string_view text) { return any_line_begins(text, kSunOsHeads); }

// Returns the version of the head line. Without one, some systems printed version 3 in the frame of version 2. 0: a version that
// this frame never had.
unsigned version_of(const Lines& lines, size_t head) {
  if (const auto list = words(lines[head]); list.size() > 2) return list[2] == "V2:" ? 2 : list[2] == "V3:" ? 3 : 0;
  for (size_t i = head + 3; i < lines.size() && !is_head(lines[i]); ++i)
    for (std::string_view word : words(lines[i]))
      if (word == "access" || word == "commit") return 3;
  return 2;
}

std::vector<Block> parse_sunos(const Lines& lines) {
  std::vector<Block> blocks;
  for (size_t at = 0; at < lines.size();) {
    if (!is_head(lines[at])) {
      ++at;
      continue;
    }
    const size_t head = at;
    const bool client = lines[head].find("Client") != std::string_view::npos;
    if (head + 1 >= lines.size()) lines.fail(head, "unexpected EOF after 'nfs:'");
    if (head + 2 >= lines.size()) lines.fail(head + 1, "can't find 'calls' value");
    const auto totals = words(lines[head + 2]);
    uint64_t calls = 0;
    if (totals.empty() || !parse_number(totals[0], &calls)) lines.fail(head + 2, "can't find 'calls' value");
    at = head + 3;
    if (at >= lines.size()) lines.fail(at, "unexpected EOF after 'calls'");
    const unsigned version = version_of(lines, head);
    if (!version) lines.fail(head, "expected 'V2:' or 'V3:' after 'NFS'");
    Block block(version, client, "SunOS nfsstat", head);
    block.printed_calls = calls;
    at = add_rows(lines, at, block);
    if (block.first_missing()) {
      if (at < lines.size() && !words(lines[at]).empty() && !is_head(lines[at]))
        lines.fail(at, fmt::format("expected names of procedures, '{}' among them", block.first_missing()));
      lines.fail(at, fmt::format("unexpected EOF: '{}' is missing", block.first_missing()));
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace

const Dialect kSunOs{"SunOS nfsstat", is_sunos, parse_sunos};

}  // namespace fsr::mix
