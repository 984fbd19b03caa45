// SPDX-License-Identifier: Apache-2.0
// nfsstat of FreeBSD: "Server Info:" or "Client Info:", then rows of capitalised names above rows of counts. Cells have 9
// characters up to release 10 and 13 since; -e and -E print more of them. --libxo json prints the same names, and so do NetBSD,
// OpenBSD, DragonFly and macOS. Pasted text often begins below the first head.
//
// These kernels count a procedure and the version 4 operation of the same name in one counter. So one row of numbers is read as
// version 3 and, if there are operations that only version 4 has, again as version 4.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mix/dialect.hpp"

namespace fsr::mix {

namespace {

constexpr std::string_view kFreeBsdHeads[] = {"Server Info:", "Client Info:"};
constexpr std::string_view kRpcHeads[] = {"Rpc Counts:", "RPC Counts:"};  // above the calls of a client
constexpr std::string_view kFirstNames[] = {"Getattr ", "Null "};

struct Counter {
  std::string name;  // lower case
  uint64_t count;
  size_t line;
};

// Procedures whose counter no version 4 operation shares.
bool only_v3(std::string_view name) {
  return name == "rdirplus" || name == "fsstat" || name == "fsinfo" || name == "pathconf" || name == "mkdir" || name == "rmdir" ||
         name == "symlink" || name == "mknod";
}

uint64_t count_of(const std::vector<Counter>& counters, std::string_view name) {
  for (const Counter& c : counters)
    if (c.name == name) return c.count;
  return 0;
}

void interpret(const std::vector<Counter>& counters, bool client, const char* what, const Lines& lines, size_t line,
               std::vector<Block>* blocks) {
  Block v3(3, client, what, line);
  for (const Counter& c : counters)
    if (nfs_procedure_alias(3, false, c.name) >= 0) v3.add(c.name, c.count, lines, c.line);
  if (v3.found == std::vector<bool>(v3.found.size()))
    lines.fail(line + 1, "expected rows of procedures' names, such as Getattr, found none");
  v3.found[0] = true;  // FreeBSD doesn't count null
  if (v3.first_missing()) lines.fail(line, fmt::format("unexpected EOF: '{}' is missing", v3.first_missing()));

  const uint64_t version4 = client ? count_of(counters, "open") + count_of(counters, "exchangeid") : count_of(counters, "putfh");
  if (version4 > 0) {
    Block v4(4, client, what, line);
    uint64_t shared_out = 0;
    for (const Counter& c : counters) {
      std::string_view name = c.name;
      // The server's "Create" is version 3's, "V4Create" version 4's; a client makes a file by an OPEN.
      if (name == "create") {
        if (!client) continue;
        name = "open";
      }
      if (!client && only_v3(name)) {
        shared_out += c.count;
        continue;
      }
      if (nfs_procedure_alias(4, client, name) >= 0) v4.add(name, c.count, lines, c.line);
    }
    v4.rank = version4;
    v3.rank = client ? 0 : shared_out + count_of(counters, "create");
    if (v3.rank > 0) {
      const std::string both = "this system counts operations of NFSv3 and NFSv4 together: the mix holds the operations of both";
      v3.notes.push_back(both);
      v4.notes.push_back(both);
    }
    blocks->push_back(std::move(v4));
  }
  blocks->push_back(std::move(v3));
}

// True: counters begin at this line, which is a head, or for the first counters a line of names.
bool begins(std::string_view line, bool first) {
  return any_line_begins(line, kFreeBsdHeads) ||
         (first && (any_line_begins(line, kRpcHeads) || any_line_begins(line, kFirstNames)));
}

bool is_freebsd(std::string_view text) { return any_line_begins(text, kFreeBsdHeads) || any_line_begins(text, kFirstNames); }

std::vector<Block> parse_freebsd(const Lines& lines) {
  std::vector<Block> blocks;
  for (size_t at = 0; at < lines.size();) {
    if (!begins(lines[at], blocks.empty())) {
      ++at;
      continue;
    }
    const size_t head = at;
    const bool headless = !any_line_begins(lines[head], kFreeBsdHeads);
    const bool client = headless ? any_line_begins(lines[head], kRpcHeads) : words(lines[head])[0] == "Client";
    if (!headless) ++at;
    while (at < lines.size() && (words(lines[at]).empty() || any_line_begins(lines[at], kRpcHeads))) ++at;
    if (at >= lines.size()) lines.fail(head, "unexpected EOF after 'nfs:'");
    std::vector<Counter> counters;
    // Rows of other things follow the procedures: open files, caches.
    while (at < lines.size() && is_name_row(lines[at])) {
      const std::string_view first = words(lines[at])[0];
      if (first == "OpenOwner" || first == "Server" || first == "TimedOut") break;
      CellRow row = read_row(lines, at);
      for (size_t i = 0; i < row.names.size(); ++i) {
        std::string name(row.names[i]);
        for (char& c : name)
          if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
        counters.push_back({std::move(name), row.counts[i], at + 1});
      }
      at += 2;
    }
    interpret(counters, client, "FreeBSD nfsstat", lines, head, &blocks);
    if (headless)
      blocks.back().notes.push_back(
          fmt::format("line {}: no 'Server Info:' or 'Client Info:' above, so the counters count as those of a {}", head + 1,
                      client ? "client" : "server"));
  }
  return blocks;
}

bool sniff_json(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' && text.find("\"nfsstat\"") != std::string_view::npos;
}

void collect(const nlohmann::json& operations, const Lines& lines, std::vector<Counter>* counters) {
  for (const auto& [name, value] : operations.items()) {
    if (value.is_object()) {
      for (const auto& [inner, count] : value.items()) {
        if (!count.is_number_unsigned()) lines.fail(0, fmt::format("expected a count as the value of '{}'", inner.substr(0, 40)));
        counters->push_back({inner, count.get<uint64_t>(), 0});
      }
    } else {
      if (!value.is_number_unsigned()) lines.fail(0, fmt::format("expected a count as the value of '{}'", name.substr(0, 40)));
      counters->push_back({name, value.get<uint64_t>(), 0});
    }
  }
}

std::vector<Block> parse_json(const Lines& lines) {
  nlohmann::json root;
  try {
    root = nlohmann::json::parse(lines.text());
  } catch (const nlohmann::json::parse_error& e) {
    const size_t line = size_t(
        std::count(lines.text().begin(), lines.text().begin() + std::ptrdiff_t(std::min(e.byte, lines.text().size())), '\n'));
    lines.fail(line, fmt::format("not JSON, at byte {}", e.byte));
  }
  std::vector<Block> blocks;
  const auto nfsstat = root.find("nfsstat");
  if (nfsstat == root.end() || !nfsstat->is_object()) lines.fail(0, "can't find the object \"nfsstat\"");
  const auto extended = nfsstat->find("nfsv4");
  const nlohmann::json& statistics = extended != nfsstat->end() && extended->is_object() ? *extended : *nfsstat;
  for (const auto& [side, client] : {std::pair{"serverstats", false}, std::pair{"clientstats", true}}) {
    const auto found = statistics.find(side);
    if (found == statistics.end() || !found->is_object()) continue;
    const auto operations = found->find("operations");
    if (operations == found->end() || !operations->is_object())
      lines.fail(0, fmt::format("can't find \"operations\" in \"{}\"", side));
    std::vector<Counter> counters;
    collect(*operations, lines, &counters);
    interpret(counters, client, "FreeBSD nfsstat, JSON", lines, 0, &blocks);
  }
  if (blocks.empty()) lines.fail(0, "can't find \"serverstats\" or \"clientstats\"");
  return blocks;
}

}  // namespace

const Dialect kFreeBsd{"FreeBSD nfsstat", is_freebsd, parse_freebsd};
const Dialect kFreeBsdJson{"FreeBSD nfsstat --libxo json", sniff_json, parse_json};

}  // namespace fsr::mix
