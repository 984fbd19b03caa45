// SPDX-License-Identifier: Apache-2.0
// Parameter files as one text: includes, substitutions, comments and continuations are resolved, and each statement is split into
// its parameters. Errors are reported with file, line and column. Values keep their places for later messages.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace fsr::vdbench {

// Where something stands; line and column from 1.
struct SourcePosition {
  std::shared_ptr<const std::string> file;
  uint32_t line = 0, column = 0;
};

// "FILE:LINE:COLUMN: what is wrong, expected ..."
struct ParameterError : std::runtime_error {
  ParameterError(const SourcePosition& place, const std::string& what);
};

struct Value {
  std::string text;
  SourcePosition place;
  bool quoted = false;
};

// keyword=value or keyword=(value,...).
struct Parameter {
  std::string keyword;  // as it was typed
  SourcePosition place;
  std::vector<Value> values;  // one at least
  bool list = false;          // in parentheses
};

// Parameters that belong together: "sd=sd1,lun=...,size=...".
struct Statement {
  std::vector<Parameter> parameters;  // one at least
};

struct SourceText {
  std::string name;  // a file, or what messages call the text
  std::string text;
};

class StatementReader {
 public:
  // Reads a file; throws std::runtime_error "FILE: why".
  using Open = std::function<std::string(const std::string& name)>;

  // `substitutions`: what stands for $NAME and !NAME.
  StatementReader(std::map<std::string, std::string> substitutions, Open open);
  // The statements of the texts, in order. Throws ParameterError, and std::runtime_error for a substitution that nothing uses.
  std::vector<Statement> read(const std::vector<SourceText>& texts);
  // Each line that was read, as it was typed, for the report of what was read.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  // Characters of a statement, each with its place.
  struct Text {
    std::string characters;
    std::vector<SourcePosition> places;
  };

  void take(const SourceText& source, unsigned depth);
  bool take_line(const std::shared_ptr<const std::string>& file, const std::string& directory, const std::string& line,
                 uint32_t number, unsigned depth);
  void include(const Text& text, const std::string& directory, unsigned depth);
  Text substitute(const std::shared_ptr<const std::string>& file, const std::string& line, uint32_t number);
  void finish(const SourcePosition& end);

  const std::map<std::string, std::string> substitutions_;
  const Open open_;
  std::map<std::string, bool> used_;
  Text pending_;  // of a statement that goes on
  std::vector<Statement> statements_;
  std::vector<std::string> lines_;
};

}  // namespace fsr::vdbench
