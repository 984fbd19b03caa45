// SPDX-License-Identifier: Apache-2.0
// Reads parameter files as one text: resolves includes, substitutions, comments and continuations, and splits each statement into
// its parameters. Errors are reported with file, line and column. Values keep their positions for later messages.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fsr::vdbench {

// Position in a parameter file; line and column count from 1.
struct SourcePosition {
  std::shared_ptr<const std::string> file;
  uint32_t line = 0, column = 0;
};

// Error with a message of the form "FILE:LINE:COLUMN: what is wrong, expected ...".
struct ParameterError : std::runtime_error {
  ParameterError(const SourcePosition& position, const std::string& what);
  template <class... Args>
  requires(sizeof...(Args) > 0) ParameterError(const SourcePosition& position, fmt::format_string<Args...> what, Args&&... args)
      : ParameterError(position, fmt::format(what, std::forward<Args>(args)...)) {}
};
// Throws std::runtime_error.
template <class... Args>
[[noreturn]] void throw_error(fmt::format_string<Args...> what, Args&&... args) {
  throw std::runtime_error(fmt::format(what, std::forward<Args>(args)...));
}

// The mistakes of a parameter file, one line each, so that those behind the first are reported, too. One thread.
class Mistakes {
 public:
  // Notes the std::runtime_error that `act` throws. False: it threw one.
  template <class Act>
  bool attempt(Act act) {
    try {
      act();
      return true;
    } catch (const std::runtime_error& e) {
      add(e.what());
      return false;
    }
  }
  void add(const std::string& line) {
    if (std::ranges::find(lines_, line) == lines_.end()) lines_.push_back(line);  // rounds of a loop repeat it
  }
  size_t count() const { return lines_.size(); }
  void check() const {  // throws std::runtime_error with all lines, if there are any
    if (!lines_.empty()) throw_error("{}", fmt::join(lines_, "\n"));
  }

 private:
  std::vector<std::string> lines_;
};

struct Value {
  std::string text;
  SourcePosition position;
  bool quoted = false;
};

// keyword=value or keyword=(value,...).
struct Parameter {
  std::string keyword;  // as typed
  SourcePosition position;
  std::vector<Value> values;  // at least one
  bool list = false;          // true: in parentheses
};

// Parameters of one definition: "sd=sd1,lun=...,size=...".
struct Statement {
  std::vector<Parameter> parameters;  // at least one
  bool behind_lost = false;           // true: a statement above it could not be read
};

struct SourceText {
  std::string name;  // a file, or the name of the text in messages
  std::string text;
};

class StatementReader {
 public:
  // Reads a file. Throws std::runtime_error "FILE: why".
  using Open = std::function<std::string(const std::string& name)>;

  // `substitutions`: values of $NAME and !NAME.
  StatementReader(std::map<std::string, std::string> substitutions, Open open);
  // Returns the statements of the texts, in order. Throws ParameterError, and std::runtime_error for a substitution that is not
  // used. `mistakes`: gets them instead, if it is not null.
  std::vector<Statement> read(const std::vector<SourceText>& texts, Mistakes* mistakes = nullptr);
  // Returns all lines read, as typed, for the report.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  // Characters of a statement, each with its position.
  struct Text {
    std::string characters;
    std::vector<SourcePosition> positions;
  };

  void take(const SourceText& source, unsigned depth);
  bool take_line(const std::shared_ptr<const std::string>& file, const std::string& directory, const std::string& line,
                 uint32_t number, unsigned depth);
  void include(const Text& text, const std::string& directory, unsigned depth);
  Text substitute(const std::shared_ptr<const std::string>& file, const std::string& line, uint32_t number);
  void cut();  // pending_ into statements
  void noting(const std::function<void()>& act);

  const std::map<std::string, std::string> substitutions_;
  const Open open_;
  std::map<std::string, bool> used_;
  Text pending_;  // statement that goes on in the next line
  std::vector<Statement> statements_;
  Mistakes* mistakes_ = nullptr;
  std::vector<std::string> lines_;
};

}  // namespace fsr::vdbench
