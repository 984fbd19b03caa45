// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/utilities/utilities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "workloads/vdbench/pages/output_directory.hpp"

namespace fsr::vdbench {

namespace {

struct WrongBlock {
  std::string storage;  // with the name of its rank in front, if there are several
  std::string file, time, when, verdict, good;
  uint64_t lba = 0, size = 0;
  std::string report;  // its lines
};

struct ErrorLogText {
  std::vector<WrongBlock> blocks;
  uint64_t other_errors = 0;
};

bool begins_with_time(const std::string& line) {
  return line.size() > 12 && std::isdigit(line[0]) && line[2] == ':' && line[8] == '.';
}

ErrorLogText read_error_log(const std::string& name) {
  // The line of Validator::report(): time, rank and what, when, file, lba, size, verdict, last good.
  static const std::regex form(
      R"((\S+) (rank \d+ \(.*?\): )?Data Validation error: (.*?) (read[a-z ]*): block (?:file=(.*) )?lba=(\d+) \S+ size=(\d+): ([a-z ]+), .*; (last [^;]*))");
  // The lines of BadBlocks::lines(), which repeat what the other lines say.
  static const std::regex summary(
      R"(\S+ (?:rank \d+ \(.*?\): )?(?:Ranges of wrong blocks: \d+|\d+ more wrong blocks are not summed up|f?sd=.*: lba=\d+ to \d+ \(0x[0-9a-f]+ to 0x[0-9a-f]+\), \d+ bytes: [a-z ]+))");
  std::ifstream in(name);
  if (!in) throw std::runtime_error(name + ": " + strerror(errno));
  ErrorLogText log;
  bool in_block = false;
  for (std::string line; std::getline(in, line);) {
    line = plain_text(line);
    std::smatch found;
    if (std::regex_match(line, found, form)) {
      log.blocks.push_back({.storage = found[2].str() + found[3].str(),
                            .file = found[5],
                            .time = found[1],
                            .when = found[4],
                            .verdict = found[8],
                            .good = found[9],
                            .lba = std::stoull(found[6]),
                            .size = std::stoull(found[7]),
                            .report = {}});
      in_block = true;
    } else if (begins_with_time(line)) {
      log.other_errors += !std::regex_match(line, summary);
      in_block = false;
    }
    if (in_block) log.blocks.back().report += line + "\n";
  }
  return log;
}

}  // namespace

std::string wrong_blocks_text(std::string input, std::optional<uint64_t> lba) {
  if (std::filesystem::is_directory(input)) input += "/errorlog.html";
  ErrorLogText log = read_error_log(input);
  std::ranges::stable_sort(log.blocks, [](const WrongBlock& a, const WrongBlock& b) {
    return std::tie(a.storage, a.file, a.lba) < std::tie(b.storage, b.file, b.lba);
  });
  std::string text;
  if (lba) {
    for (const WrongBlock& block : log.blocks)
      if (*lba >= block.lba && *lba < block.lba + block.size) text += block.report;
    return text.empty() ? fmt::format("{}: no wrong block contains byte {}\n", input, *lba) : text;
  }
  std::map<std::string, uint64_t> verdicts;
  for (const WrongBlock& block : log.blocks) ++verdicts[block.verdict];
  text = fmt::format("{}: {} wrong blocks, {} other errors\n", input, log.blocks.size(), log.other_errors);
  for (const auto& [verdict, count] : verdicts) text += fmt::format("{:<16} {:>8}\n", verdict, count);
  std::string of;
  for (const WrongBlock& block : log.blocks) {
    const std::string storage = block.storage + (block.file.empty() ? "" : " file=" + block.file);
    if (storage != of) text += "\n" + storage + "\n";
    of = storage;
    text += fmt::format("  lba={} ({:#x}) size={} {} at {} ({}); {}\n", block.lba, block.lba, block.size, block.verdict,
                        block.time, block.when, block.good);
  }
  return text;
}

}  // namespace fsr::vdbench
