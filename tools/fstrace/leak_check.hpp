// SPDX-License-Identifier: Apache-2.0
// Finds names, commands, hosts and attributes of a trace in another one that was made of it.
//
// Secrets are learned from the original. Each is searched in the strings of the other trace: as a complete string, or from 8
// bytes on within one. Secrets of 12 bytes and more are also searched in the bytes of the file, as they are and decompressed.
// Memory follows the number of different secrets. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trace/reader.hpp"

namespace fsr::fstrace {

class LeakCheck {
 public:
  void learn(TraceReader& original);
  void add_marker(const std::string& marker);  // throws std::runtime_error below 12 bytes
  size_t secrets() const { return secrets_.size(); }

  void check_strings(TraceReader& trace);
  void check_string(std::string_view text) { check_text(text, "is in a text"); }
  // Throws std::runtime_error if the file can't be read.
  void check_bytes(const std::string& file);

  // leaks(): the first leaks, one line each. count(): the number of all.
  const std::vector<std::string>& leaks() const { return leaks_; }
  uint64_t count() const { return count_; }

 private:
  void learn_words(std::string_view text);
  void learn_secret(std::string_view secret);
  void learn_op(const Op& op);
  void check_text(std::string_view text, const char* where);
  void check_words(std::string_view text, const char* where);
  void check_op(const Op& op);
  void check_owners();
  // Secrets of at least `least` bytes within `bytes`, which begin before `end`.
  void search(std::string_view bytes, size_t end, size_t least, const char* where);
  void found(std::string_view secret, const char* where);

  std::unordered_set<std::string> secrets_;
  std::unordered_set<uint64_t> original_processes_, processes_, owners_;
  // Secrets by their first eight bytes, and the pairs of first two bytes that occur.
  std::unordered_multimap<uint64_t, std::string_view> by_start_;
  std::vector<bool> starts_ = std::vector<bool>(1 << 16);
  std::unordered_set<std::string> reported_;
  std::map<std::string, unsigned> reported_by_place_;
  std::vector<std::string> leaks_;
  uint64_t count_ = 0;
};

}  // namespace fsr::fstrace
