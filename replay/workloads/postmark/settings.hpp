// SPDX-License-Identifier: Apache-2.0
// Settings of PostMark's "set" commands, with version 1.53's defaults and words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fsr::postmark {

struct Location {
  std::string name;  // a directory or a URL; empty: the current directory
  int64_t weight = 1;
};

struct Settings {
  int64_t size_low = 500, size_high = 10000;  // bytes; new files are smaller than size_high
  int64_t files = 500;                        // number that exist at the same time
  int64_t transactions = 500;
  int64_t seed = 42;
  std::vector<Location> locations;
  int64_t subdirectories = 0;  // in each location; only 2 or more are used
  int64_t read_block = 512, write_block = 512;
  bool buffered = true;  // uses stdio
  int64_t bias_read = 5,
          bias_create = 5;  // chances in 10 of a read instead of an append, and of a creation instead of a deletion; -1: neither
  bool verbose = true;

  // Return the settings in the form of the "show" command. text_above() and text_below() go to its file, or standard output;
  // text_locations() always goes to standard output.
  std::string text_above() const, text_locations() const, text_below() const;

  // Serialization for another process of the same program. load() throws std::runtime_error for bytes that save() did not make.
  std::string save() const;
  static Settings load(std::string_view saved);
};

}  // namespace fsr::postmark
