// SPDX-License-Identifier: Apache-2.0
#include "help_text.hpp"

#include <sstream>

namespace fsr {

constexpr size_t kTextColumns = 80, kDescription = 30;

HelpFormatter::HelpFormatter() {
  column_width(kDescription);
  label("Positionals", "Arguments");
}

// An argument has its own name unless stands_for() has set another, which CLI11 2.4 may refuse as a name: "NAME=VALUE".
std::string HelpFormatter::make_option_name(const CLI::Option* option, bool positional) const {
  const std::string word = option->get_positional() ? option->get_option_text() : "";
  return word.empty() ? CLI::Formatter::make_option_name(option, positional) : word;
}

// "--max-size SIZE": the value has the last word of the option's name, unless stands_for() has set another.
std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  const std::string more = option->get_expected_max() == CLI::detail::expected_max_vector_size ? " ..." : "";
  if (option->get_positional()) return more;
  if (option->get_expected_max() == 0) return "";  // a flag
  std::string word = option->get_option_text();
  if (word.empty() && CLI::detail::to_lower(option->get_type_name()).find("int") != std::string::npos) word = "N";
  if (word.empty()) {
    const std::string name = option->get_name();
    for (char c : name.substr(name.rfind('-') + 1)) word += char(toupper(c));
  }
  return " " + word;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  const std::string value = option->get_default_str();
  return option->get_description() + (value.empty() ? "" : " (default " + value + ")");
}

// "[FILE...]" for an argument of several words, where CLI11 has "[FILE(0x)]".
std::string HelpFormatter::make_option_usage(const CLI::Option* option) const {
  const std::string out = make_option_name(option, true) + (option->get_expected_max() > 1 ? "..." : "");
  return option->get_required() ? out : "[" + out + "]";
}

// Breaks a line between words. The rest is indented: as the description of an option, or a little.
static void wrap(std::string line, std::string& out) {
  const bool described = line.size() > kDescription && line.compare(0, 2, "  ") == 0 && line[kDescription - 1] == ' ' &&
                         line[kDescription] != ' ' && line[kDescription - 2] == ' ';
  const std::string indent(described ? kDescription : 2, ' ');
  while (line.size() > kTextColumns) {
    const size_t at = line.rfind(' ', kTextColumns);
    if (at == line.npos || at <= indent.size()) break;
    out += line.substr(0, at) + "\n";
    line = indent + line.substr(at + 1);
  }
  out += line + "\n";
}

std::string tidy_help(std::string text) {
  for (size_t at; (at = text.find("\n\n\n")) != text.npos;) text.erase(at, 1);
  for (const char* heading : {"\n\nArguments:", "\n\nSubcommands:"})
    if (const size_t at = text.find(heading); at != text.npos) text.erase(at, 1);
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) wrap(line, out);
  return out;
}

}  // namespace fsr
