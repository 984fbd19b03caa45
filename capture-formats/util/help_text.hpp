// SPDX-License-Identifier: Apache-2.0
// Formats --help: 80 columns, and a word for the value of an option. Only for command.cpp: CLI11 takes long to compile.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace fsr {

class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option_name(const CLI::Option* option, bool positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_option_usage(const CLI::Option* option) const override;
};

// Wraps the lines of a help text. Removes doubled empty lines, and the one above the subcommands.
std::string tidy_help(std::string text);

}  // namespace fsr
