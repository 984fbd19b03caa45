// SPDX-License-Identifier: Apache-2.0
#include "mix/mountstats.hpp"

#include <algorithm>

#include "mix/dialect.hpp"

namespace fsr {

namespace {

uint64_t number_after(std::string_view text, std::string_view key) {
  size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  at += key.size();
  const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
  uint64_t n = 0;
  return mix::parse_number(text.substr(at, end - at), &n) ? n : 0;
}

}  // namespace

bool parse_mountstats(std::string_view text, Mountstats* stats) {
  *stats = {};
  const mix::Lines lines({text, "mountstats"});
  bool per_op = false;
  for (size_t at = 0; at < lines.size(); ++at) {
    const auto list = mix::words(lines[at]);
    if (list.empty()) continue;
    if (list[0] == "device" && at > 0) break;  // the next mount
    if (list[0] == "opts:" && list.size() > 1) {
      stats->options = list[1];
      stats->nfs_version = unsigned(std::min<uint64_t>(number_after("," + stats->options, ",vers="), 9));
    } else if (list[0] == "caps:") {
      stats->dtsize = number_after(lines[at], "dtsize=");
    } else if (list[0] == "per-op") {
      per_op = true;
    } else if (per_op && list.size() > 2 && list[0].size() > 1 && list[0].back() == ':') {
      uint64_t n = 0;
      if (!mix::parse_number(list[1], &n)) return false;
      std::string name(list[0].substr(0, list[0].size() - 1));
      for (char& c : name)
        if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
      stats->calls.emplace_back(std::move(name), n);
    }
  }
  return stats->nfs_version >= 2 && stats->nfs_version <= 4 && !stats->calls.empty();
}

}  // namespace fsr
