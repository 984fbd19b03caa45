// SPDX-License-Identifier: Apache-2.0
// The settings of PostMark's "set" commands, with version 1.53's defaults and words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fsr::postmark {

struct Location {
  std::string name;  // a directory or a URL; "" is the current directory
  int64_t weight = 1;
};

struct Settings {
  int64_t size_low = 500, size_high = 10000;  // bytes; no file reaches the higher one when it is made
  int64_t files = 500;                        // that exist at the same time
  int64_t transactions = 500;
  int64_t seed = 42;
  std::vector<Location> locations;
  int64_t subdirectories = 0;  // of each location; used from 2 on
  int64_t read_block = 512, write_block = 512;
  bool buffered = true;  // stdio
  int64_t bias_read = 5,
          bias_create = 5;  // chances in 10 of a read against an append, a creation against a deletion; -1: neither
  bool verbose = true;

  // As the "show" command prints it: the part for its file, or standard output, and the locations, which always go to the latter.
  std::string text_above() const, text_locations() const, text_below() const;

  // For another process of the same program. load() throws std::runtime_error for bytes that save() did not make.
  std::string save() const;
  static Settings load(std::string_view saved);
};

}  // namespace fsr::postmark
