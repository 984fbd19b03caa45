// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/language/cut.hpp"

#include <fmt/format.h>

#include <cctype>

#include "workloads/vdbench/language/sections.hpp"

namespace fsr::vdbench {

namespace {

class Cutter {
 public:
  Cutter(const std::string& text, const std::vector<SourcePosition>& positions) : text_(text), positions_(positions) {}

  std::vector<Statement> cut() {
    std::vector<Statement> statements;
    do {
      const Parameter next = parameter();
      const Section section = section_of(next);
      if (statements.empty() || (section != Section::general && section >= section_of(statements.back().parameters[0])))
        statements.emplace_back();
      statements.back().parameters.push_back(next);
    } while (took(','));
    if (at_ < text_.size()) fail("expected ',' or the end of the line");
    return statements;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw ParameterError(position(), what); }
  SourcePosition position() const {
    if (at_ < positions_.size()) return positions_[at_];
    SourcePosition last = positions_.back();
    ++last.column;
    return last;
  }
  bool took(char c) {
    const bool is = at_ < text_.size() && text_[at_] == c;
    at_ += is;
    return is;
  }

  Parameter parameter() {
    Parameter parameter;
    parameter.position = position();
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      parameter.keyword += text_[at_++];
    if (parameter.keyword.empty()) fail("expected KEYWORD=VALUE");
    if (!took('=')) fail(fmt::format("expected '=' after {}", parameter.keyword));
    if (took('(')) {
      parameter.list = true;
      do parameter.values.push_back(value(true));
      while (took(','));
      if (!took(')')) fail(fmt::format("expected ')' or ',' in the list of {}", parameter.keyword));
    } else {
      parameter.values.push_back(value(false));
    }
    return parameter;
  }

  Value value(bool in_list) {
    Value value;
    value.position = position();
    if (took('"')) {
      value.quoted = true;
      while (at_ < text_.size() && text_[at_] != '"') value.text += text_[at_++];
      if (!took('"')) fail("missing closing quote, expected another \"");
      return value;
    }
    while (at_ < text_.size() && text_[at_] != ',' && !(in_list && text_[at_] == ')')) {
      if (text_[at_] == '"') fail("expected a value that is quoted as a whole");
      if (text_[at_] == '(' || (text_[at_] == ')' && !in_list)) fail("expected a value without parentheses");
      value.text += text_[at_++];
    }
    if (value.text.empty()) fail("expected a value");
    return value;
  }

  const std::string& text_;
  const std::vector<SourcePosition>& positions_;
  size_t at_ = 0;
};

}  // namespace

std::vector<Statement> cut_statements(const std::string& text, const std::vector<SourcePosition>& positions) {
  return Cutter(text, positions).cut();
}

}  // namespace fsr::vdbench
