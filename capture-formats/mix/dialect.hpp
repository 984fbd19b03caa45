// SPDX-License-Identifier: Apache-2.0
// Shared by the readers of nfsstat's dialects: lines of a mixfile, rows of names and numbers, blocks of counters, the table of
// dialects. The grammars are in docs/mixfile.md.
//
// A dialect is one file with a constant Dialect and one line in the table of mix.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mix/mix.hpp"
#include "mix/procedures.hpp"

namespace fsr::mix {

// The lines of one mixfile, without their ends. Points into the text.
class Lines {
 public:
  explicit Lines(const MixText& mix);

  size_t size() const { return lines_.size(); }
  std::string_view operator[](size_t i) const { return lines_[i]; }
  std::string_view text() const { return text_; }
  // Throws MixError "NAME:LINE: bad mix format: WHAT"; a line at or beyond the end is reported as the last one.
  [[noreturn]] void fail(size_t line, std::string_view what) const;

 private:
  std::string name_;
  std::string_view text_;
  std::vector<std::string_view> lines_;
};

// The counters of one side and version.
struct Block {
  unsigned nfs_version = 0;
  bool client = false;
  std::string what;                // "Linux nfsstat", for people
  size_t line = 0;                 // where it begins, 0-based
  std::vector<uint64_t> counts;    // as nfs_procedures(nfs_version)
  std::vector<bool> found;         // which of them were named
  uint64_t printed_calls = 0;      // the total that is printed beside the counters; 0: none is
  uint64_t rank = 0;               // calls or COMPOUNDs; the block with the most is the default
  std::vector<std::string> notes;  // "12 calls of 'foo' ignored: not an NFSv3 procedure"

  Block() = default;
  Block(unsigned version, bool client_side, std::string dialect, size_t at);

  // Adds what was printed beside `name`, or notes that it has no procedure. Throws MixError if a sum exceeds 64 bits.
  void add(std::string_view name, uint64_t count, const Lines& lines, size_t line);
  uint64_t sum() const;               // saturates
  const char* first_missing() const;  // name of the first procedure that was not found, null = complete
};

struct Dialect {
  const char* name;
  bool (*sniff)(std::string_view text);
  // Returns all blocks of counters, in the order of the file. Throws MixError if one is damaged.
  std::vector<Block> (*parse)(const Lines& lines);
};

extern const Dialect kLinuxRaw;     // /proc/net/rpc/nfsd and nfs
extern const Dialect kFreeBsdJson;  // nfsstat --libxo json
extern const Dialect kLinuxList;    // nfsstat --list
extern const Dialect kLinux;        // nfsstat of nfs-utils
extern const Dialect kFreeBsd;      // nfsstat of the BSDs since 4.4, and of macOS
extern const Dialect kSolaris;      // nfsstat of Solaris 2.5 and later, AIX
extern const Dialect kSunOs;        // nfsstat of SunOS 4, 4.3BSD and their descendants

// Returns the words of a line, which are separated by blanks.
std::vector<std::string_view> words(std::string_view line);
// True for a line of names: words, each beginning with a letter, none ending with ':'.
bool is_name_row(std::string_view line);
// "40 0%  1000 1%", "40 1000" or "1234567 13%1000  1%" as 40, 1000. False on anything else.
bool parse_counts(std::string_view line, std::vector<uint64_t>* counts);
bool parse_number(std::string_view digits, uint64_t* number);  // digits only; false on more than 64 bits
// A row of names and the counts below it. read_row() throws MixError if there are more of one than of the other.
struct CellRow {
  std::vector<std::string_view> names;
  std::vector<uint64_t> counts;
};
CellRow read_row(const Lines& lines, size_t at);
// Adds rows of names, each above its row of counts, from line `at` on, until a line that is no row of names; returns that line.
size_t add_rows(const Lines& lines, size_t at, Block& block);
// True when some line of `text` begins, after blanks, with one of `prefixes`.
bool any_line_begins(std::string_view text, std::span<const std::string_view> prefixes);

}  // namespace fsr::mix
