// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/utilities/error_log_reader.hpp"

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
  std::string storage, file, time, when, verdict, good;
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
  // The line of Validator::report(): what, when, file, lba, size, verdict, last good.
  static const std::regex form(
      R"((\S+) Data Validation error: (.*?) (read[a-z ]*): block (?:file=(.*) )?lba=(\d+) \S+ size=(\d+): ([a-z ]+), .*; (last [^;]*))");
  std::ifstream in(name);
  if (!in) throw std::runtime_error(name + ": " + strerror(errno));
  ErrorLogText log;
  bool in_block = false;
  for (std::string line; std::getline(in, line);) {
    line = plain_text(line);
    std::smatch found;
    if (std::regex_match(line, found, form)) {
      log.blocks.push_back({.storage = found[2],
                            .file = found[4],
                            .time = found[1],
                            .when = found[3],
                            .verdict = found[7],
                            .good = found[8],
                            .lba = std::stoull(found[5]),
                            .size = std::stoull(found[6]),
                            .report = {}});
      in_block = true;
    } else if (begins_with_time(line)) {
      log.other_errors += line.find("wrong blocks") == std::string::npos && line.find(" bytes: ") == std::string::npos;
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
