// SPDX-License-Identifier: Apache-2.0
// A program's command line: its subcommands and their options. CLI11 does the work; only command.cpp and help_text.cpp include
// it, because that takes the compiler several seconds a file.
//
// The variables that options write to must live until parse() has returned. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Error;
class Option;
}  // namespace CLI

namespace fsr {

// Error in a command line. what() is one line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An option or argument as declared. The functions add to the declaration.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option required(bool is = true);
  Option one_of(const std::vector<std::string>& words);
  Option often(const std::vector<std::string>& words);  // values to complete; there may be others
  Option within(uint64_t least, uint64_t most);
  Option count_within(int least, int most);  // how many values
  Option separated_by_commas();              // several values in one word; more come with another use of the option
  Option repeatable();                       // each use takes one word
  Option excludes(Option other);
  Option stands_for(const char* placeholder);  // in --help, in place of the type and the values
  Option show_default();                       // in --help
  bool given() const;                          // after parse()

 private:
  CLI::Option* option_;
};

// A program or a subcommand.
class Command {
 public:
  // T: std::string, int, unsigned, uint64_t, or a vector of std::string or uint32_t.
  template <class T>
  Option add(const std::string& names, T& to, const std::string& help);
  Option flag(const std::string& names, bool& to, const std::string& help);
  // `take` is called with the value; the std::invalid_argument that it throws says what is wrong with it.
  Option add_parsed(const std::string& name, std::function<void(const std::string&)> take, const std::string& help);
  Option add_each(const std::string& name, std::function<void(const std::string&)> take, const std::string& help);  // of several
  // Does what add_parsed() does, with a parser of units.hpp.
  template <class T, class Parser>
  Option add_with(const std::string& name, T& to, Parser parse, const std::string& help) {
    return add_parsed(
        name, [&to, parse](const std::string& text) { to = T(parse(text)); }, help);
  }
  Option option(const std::string& name);  // one that was added
  // Returns this command, with a heading of --help for the options that are added to the returned one.
  Command group(const std::string& heading) const;
  // Returns the first option of the group that was given and is not among `except`. Call after parse(). Empty: none.
  std::string first_given(const std::vector<std::string>& except) const;

  Command subcommand(const std::string& name, const std::string& what);
  void when_chosen(std::function<void()> act);  // parse() calls it if this is the subcommand
  bool chosen() const;                          // after parse()
  void common_options();                        // beside --help and --version, which all have: --debug
  void help_by_word_only();                     // --help and --version; -h and -V mean something else here
  // Names a file of lines "option=value", which the command line overrides.
  void config_option(const std::string& name, const std::string& help);
  void footer(const std::string& text);
  // Says which option is suggested for a word that other programs have for it: "--speed".
  void suggest(const std::string& word, const std::string& option);
  // Sets the hint that is printed for unexpected arguments, for example "a command follows --".
  void explain_extras(const std::string& hint);

 protected:
  explicit Command(CLI::App* app) : app_(app) {}
  CLI::App* app_;

 private:
  Option grouped(CLI::Option* option) const;
  std::string group_ = "Options";
  struct Hints {
    std::map<const CLI::App*, std::string> extras;
    std::map<std::pair<const CLI::App*, std::string>, std::string> options;
  };
  Hints* hints_ = nullptr;  // the program's
  friend class Program;
};

class Program : public Command {
 public:
  Program(const std::string& name, const std::string& what);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  void require_subcommand();
  // Prints --help and --version itself, and then returns 0; none: the program continues. Shells ask PROGRAM [SUBCOMMAND]
  // --values-of OPTION to complete a value, and get a word a line. Throws UsageError, without the program's name.
  std::optional<int> parse(int argc, const char* const* argv);

 private:
  std::string complaint(const CLI::Error& error) const;
  void print_values(int argc, const char* const* argv) const;

  std::string name_;
  Hints all_hints_;
};

}  // namespace fsr
