// SPDX-License-Identifier: Apache-2.0
// Describes how fsbench compare runs a program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fsr::fsbench {

using Words = std::vector<std::string>;

// `arguments`: those of the program, without a target.
struct Compared {
  // Throws std::runtime_error if the program can't run with these arguments on one target after another. Null: it always can.
  void (*check)(const Words& arguments) = nullptr;
  // Returns options that these targets require in addition to the arguments. Null: none.
  Words (*required)(const Words& arguments, const Words& targets) = nullptr;
  const char* why_required = "";  // reason of required(), as "because ..."
  // Returns what a target replaces in the arguments, one line. Empty: nothing. Null: never anything.
  std::string (*replaced)(const Words& arguments) = nullptr;
  // Returns what follows the arguments for a run on `target`. `seed`: for programs that take a seed from the time by default.
  Words (*on)(const std::string& target, unsigned seed, const Words& arguments);
};

// A file that the program reads, such as its configuration.
struct NamedText {
  std::string name, text;
};
// Returns the text files that arguments name, with their present content.
std::vector<NamedText> texts_named_in(const Words& arguments);

// Whether an argument begins with `option`.
bool has_option(const Words& arguments, std::string_view option);
// Returns the first argument that is neither an option nor the value of one. Empty: there is none. `flags`: options without a
// value.
std::string first_word(const Words& arguments, std::span<const std::string_view> flags);

}  // namespace fsr::fsbench
