// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/language/source_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "workloads/vdbench/language/statements.hpp"

namespace fsr::vdbench {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// True for variables that the program sets itself: for each host, or for each command that it runs.
bool is_own_variable(const std::string& name) {
  return name.starts_with("host") || name == "output" || name == "lun" || name == "lba" || name == "size" || name == "sector" ||
         name == "error";
}

std::string directory_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

// Cuts the statements of a line and of those that continue it after a ','. A definition may begin after a ',', too. `text`: not
// empty. `positions`: the position of each of its characters. All throw ParameterError.
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

ParameterError::ParameterError(const SourcePosition& position, const std::string& what)
    : std::runtime_error(position.file ? fmt::format("{}:{}:{}: {}", *position.file, position.line, position.column, what)
                                       : what) {}

StatementReader::StatementReader(std::map<std::string, std::string> substitutions, Open open)
    : substitutions_(std::move(substitutions)), open_(std::move(open)) {}

std::vector<Statement> StatementReader::read(const std::vector<SourceText>& texts, Mistakes* mistakes) {
  mistakes_ = mistakes;
  for (const SourceText& text : texts) take(text, 0);
  // Texts follow one another as one. The original accepts a comma at their end, too.
  while (pending_.characters.ends_with(',')) {
    pending_.characters.pop_back();
    pending_.positions.pop_back();
  }
  if (!pending_.characters.empty()) noting([&] { cut(); });
  for (const auto& its : substitutions_)
    noting([&] {
      if (!used_[its.first]) throw_error("{}={}: no parameter file has ${}", its.first, its.second, its.first);
    });
  return std::move(statements_);
}

void StatementReader::take(const SourceText& source, unsigned depth) {
  const auto file = std::make_shared<const std::string>(source.name);
  uint32_t number = 0;
  size_t at = source.text.starts_with("\xEF\xBB\xBF") ? 3 : 0;  // after a byte order mark
  while (at < source.text.size()) {
    const size_t end = std::min(source.text.find('\n', at), source.text.size());
    bool goes_on = true;
    noting([&] { goes_on = take_line(file, directory_of(source.name), source.text.substr(at, end - at), ++number, depth); });
    if (!goes_on) break;
    at = end + 1;
  }
}

// False: the rest of the file is not read.
bool StatementReader::take_line(const std::shared_ptr<const std::string>& file, const std::string& directory,
                                const std::string& line, uint32_t number, unsigned depth) {
  lines_.push_back(line);
  size_t first = 0;
  while (first < line.size() && is_blank(line[first])) ++first;
  if (first == line.size() || line[first] == '/' || line[first] == '#' || line[first] == '*') return true;
  const std::string_view rest = std::string_view(line).substr(first);
  if (rest.starts_with("eof") && (rest.size() == 3 || is_blank(rest[3]))) return false;

  Text text = substitute(file, line, number);
  while (!text.characters.empty() && is_blank(text.characters.front())) {
    text.characters.erase(text.characters.begin());
    text.positions.erase(text.positions.begin());
  }
  // A comment begins at the first blank outside quotes and parentheses. Parentheses may go on in the next line.
  bool quoted = false;
  int open = 0;
  for (char c : pending_.characters) open += c == '(' ? 1 : c == ')' ? -1 : 0;
  Text kept;
  for (size_t i = 0; i < text.characters.size(); ++i) {
    const char c = text.characters[i];
    if (c == '"') quoted = !quoted;
    if (!quoted) {
      if (is_blank(c) && open <= 0) break;
      if (is_blank(c)) continue;
      open += c == '(' ? 1 : c == ')' ? -1 : 0;
    }
    kept.characters += c;
    kept.positions.push_back(text.positions[i]);
  }
  if (quoted) throw ParameterError(kept.positions.back(), "missing closing quote, expected another \"");
  if (kept.characters.empty()) return true;
  if (pending_.characters.empty() && kept.characters.starts_with("include=")) {
    include(kept, directory, depth);
    return true;
  }
  pending_.characters += kept.characters;
  pending_.positions.insert(pending_.positions.end(), kept.positions.begin(), kept.positions.end());
  if (pending_.characters.back() != ',') cut();
  return true;
}

void StatementReader::cut() {
  const Text text = std::exchange(pending_, {});
  for (Statement& statement : Cutter(text.characters, text.positions).cut()) {
    statement.behind_lost = mistakes_ && mistakes_->count() > 0;
    statements_.push_back(std::move(statement));
  }
}

// Notes the std::runtime_error of `act`, or throws it if mistakes are not noted.
void StatementReader::noting(const std::function<void()>& act) {
  if (mistakes_)
    mistakes_->attempt(act);
  else
    act();
}

void StatementReader::include(const Text& text, const std::string& directory, unsigned depth) {
  const std::string name = text.characters.substr(text.characters.find('=') + 1);
  const SourcePosition& position = text.positions[text.characters.find('=')];
  if (depth != 0) throw ParameterError(position, "an include inside of an included file, expected only one level of includes");
  if (name.empty()) throw ParameterError(position, "expected the name of a file after include=");
  std::string path = name, content;
  try {
    // A name without a directory is searched beside the including file, then in the current directory.
    if (name.find('/') == std::string::npos && !directory.empty()) {
      try {
        content = open_(path = directory + name);
      } catch (const std::runtime_error&) {
        content = open_(path = name);
      }
    } else {
      content = open_(path);
    }
  } catch (const std::runtime_error& e) {
    throw ParameterError(position, std::string("can't include ") + e.what());
  }
  take({path, content}, depth + 1);
}

StatementReader::Text StatementReader::substitute(const std::shared_ptr<const std::string>& file, const std::string& line,
                                                  uint32_t number) {
  Text text;
  bool quoted = false;
  auto put = [&](std::string_view what, size_t column) {
    text.characters += what;
    text.positions.insert(text.positions.end(), what.size(), SourcePosition{file, number, uint32_t(column + 1)});
  };
  for (size_t at = 0; at < line.size();) {
    const char c = line[at];
    if (c == '"') quoted = !quoted;
    size_t end = at + 1;
    if (c == '$' || c == '!' || c == '#')
      while (end < line.size() && is_word(line[end])) ++end;
    const std::string name = line.substr(at + 1, end - at - 1);
    if (name.empty()) {
      put(line.substr(at, 1), at);
      ++at;
      continue;
    }
    const auto found = c == '#' ? substitutions_.end() : substitutions_.find(name);
    if (found != substitutions_.end()) {
      used_[name] = true;
      put(found->second, at);
    } else if (c == '$' && !quoted && !is_own_variable(name) && at > 0 &&
               (line[at - 1] == '=' || line[at - 1] == ',' || line[at - 1] == '(')) {
      throw ParameterError({file, number, uint32_t(at + 1)}, "unknown variable ${}, expected {}=VALUE on the command line", name,
                           name);
    } else {
      put(line.substr(at, end - at), at);
    }
    at = end;
  }
  return text;
}

}  // namespace fsr::vdbench
