// SPDX-License-Identifier: Apache-2.0
#include "workloads/lantest/dircache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <vector>

namespace fsr::lantest {

namespace {

constexpr std::streamoff kLooked = 100 << 10;  // bytes at the end of the log that are read
constexpr size_t kLast = 10;                   // lines to show if there are no statistics
constexpr std::array<const char*, 4> kKinds = {"LRU", "ARC", "hints", "AD"};

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// Returns the value of the line "log file = /var/log/afpd.log".
std::string log_of(const std::string& conf) {
  std::ifstream in(conf);
  for (std::string line; std::getline(in, line);) {
    const size_t equals = line.find('=');
    if (equals != std::string::npos && trimmed(line.substr(0, equals)) == "log file") return trimmed(line.substr(equals + 1));
  }
  return "";
}

std::vector<std::string> last_lines(std::ifstream& in) {
  in.seekg(0, std::ios::end);
  const std::streamoff size = in.tellg();
  in.seekg(std::max<std::streamoff>(0, size - kLooked));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (size > kLooked && !lines.empty()) lines.erase(lines.begin());  // it may be the end of a line
  return lines;
}

}  // namespace

std::string dircache_statistics(const std::string& conf) {
  const std::string log = log_of(conf);
  std::ifstream in(log);
  if (log.empty() || !in) return "";
  const std::vector<std::string> lines = last_lines(in);
  std::string found;
  for (const char* kind : kKinds) {
    const std::string sign = fmt::format("dircache statistics ({})", kind);
    const auto last =
        std::find_if(lines.rbegin(), lines.rend(), [&](const std::string& line) { return line.find(sign) != std::string::npos; });
    if (last != lines.rend()) found += *last + "\n";
  }
  std::string text = fmt::format("\nDircache Statistics ({}):\n{}\n", log, std::string(66, '-'));
  if (!found.empty()) return text + found + "\n";
  text +=
      "No 'dircache statistics' logs found.\n\n(At least 'log level = default:info' is required)\n"
      "Last 10 lines of log file:\n---------------------------\n";
  for (size_t i = lines.size() - std::min(lines.size(), kLast); i < lines.size(); ++i) text += lines[i] + "\n";
  return text;
}

}  // namespace fsr::lantest
