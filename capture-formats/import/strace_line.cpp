// SPDX-License-Identifier: Apache-2.0
#include "strace_line.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_map>

#include "import_text.hpp"

namespace fsr::strace {

namespace {

bool word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// The end of a quoted string that begins at `at`: behind its closing quote, or npos.
size_t string_end(std::string_view text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      return at + 1;
  }
  return std::string_view::npos;
}

// Returns the end of the <...> that strace -y prints behind a descriptor, and that may contain others; npos: there is no end.
size_t angle_end(std::string_view text, size_t at) {
  unsigned depth = 0;
  for (; at < text.size(); ++at) {
    depth += text[at] == '<';
    // "->" of a socket's address closes nothing.
    if (text[at] == '>' && text[at - 1] != '-' && --depth == 0) return at + 1;
  }
  return std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Splits `text` at its commas, up to the closing bracket that it did not open. Commas inside strings, brackets, comments and
// paths do not count. Returns the position of that closing bracket. npos: there is none.
size_t split(std::string_view text, std::vector<std::string_view>* out) {
  unsigned depth = 0;
  size_t begin = 0;
  auto part = [&](size_t end) {
    const std::string_view p = trimmed(text.substr(begin, end - begin));
    if (!p.empty()) out->push_back(p);
    begin = end + 1;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    size_t end = 0;
    if (c == '"') {
      end = string_end(text, i);
    } else if (c == '/' && text.substr(i, 2) == "/*") {
      end = text.find("*/", i + 2);
      if (end != std::string_view::npos) end += 2;
    } else if (c == '<' && i > 0 && word(text[i - 1]) && text.substr(i, 2) != "<<") {
      end = angle_end(text, i);
    } else if (c == '<' && text.substr(i, 2) == "<<") {
      ++i;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      if (depth-- == 0) return part(i), i;
    } else if (c == ',' && depth == 0) {
      part(i);
    }
    if (end == std::string_view::npos) return end;
    if (end) i = end - 1;
  }
  return std::string_view::npos;
}

bool parse_duration(std::string_view* text, int64_t* out) {
  if (!text->ends_with('>')) return false;
  const size_t open = text->rfind(" <");
  if (open == std::string_view::npos) return false;
  if (!parse_seconds(text->substr(open + 2, text->size() - open - 3), out)) return false;
  *text = text->substr(0, open);
  return true;
}

int error_number(std::string_view name) {
  static const std::unordered_map<std::string_view, int> errors = [] {
    std::unordered_map<std::string_view, int> all;
    for (int i = 1; i < 256; ++i)
      if (const char* n = strerrorname_np(i)) all.emplace(n, i);
    return all;
  }();
  auto it = errors.find(name);
  return it == errors.end() ? 0 : it->second;
}

}  // namespace

// Parses the thread of a line: "12", or with -Y "12<make>".
static bool parse_tid(std::string_view text, int32_t* tid) { return parse_whole(text.substr(0, text.find('<')), tid); }

// Parses a time of day: "12:34:56", with or without a fraction.
static bool parse_time_of_day(std::string_view text, int64_t* ns) {
  int hours, minutes;
  if (text.size() < 8 || text[2] != ':' || text[5] != ':') return false;
  if (!parse_whole(text.substr(0, 2), &hours) || !parse_whole(text.substr(3, 2), &minutes)) return false;
  if (!parse_seconds(text.substr(6), ns) || hours > 23 || minutes > 59) return false;
  *ns += (hours * 60 + minutes) * 60'000'000'000;
  return true;
}

// Reads the time, and the fields that -r, -n and -i add after it. Returns the rest of the line. Empty: there is no time.
static std::string_view parse_stamp(std::string_view text, Line* out) {
  out->padded = text.starts_with(' ');
  text = trimmed(text);
  const size_t end = text.find(' ');
  if (end == std::string_view::npos) return {};
  const std::string_view stamp = text.substr(0, end);
  out->stamp = stamp.find(':') == std::string_view::npos ? Line::seconds : Line::of_day;
  out->whole_seconds = stamp.find('.') == std::string_view::npos;
  const bool good = out->stamp == Line::of_day ? parse_time_of_day(stamp, &out->time) : parse_seconds(stamp, &out->time);
  if (!good || out->time < 0) return {};
  text = trimmed(text.substr(end));
  if (text.starts_with("(+")) {
    const size_t close = text.find(')');
    if (close == std::string_view::npos || !parse_seconds(trimmed(text.substr(2, close - 2)), &out->since_before)) return {};
    text = trimmed(text.substr(close + 1));
  }
  while (text.starts_with('[')) text = trimmed(text.substr(std::min(text.find(']'), text.size() - 1) + 1));
  return text;
}

bool parse_line(std::string_view line, Line* out) {
  std::string_view rest = line, front = trimmed(line);
  *out = {};
  size_t end;
  if (front.starts_with("[pid ") && (end = front.find(']')) != std::string_view::npos) {
    if (!parse_tid(trimmed(front.substr(5, end - 5)), &out->tid)) return false;
    rest = front.substr(std::min(end + 2, front.size()));
  } else if ((end = front.find(' ')) != std::string_view::npos && parse_tid(front.substr(0, end), &out->tid)) {
    // Such a number is padded to five digits.
    const size_t blanks = std::min(front.find_first_not_of(' ', end), front.size()) - end;
    rest = front.substr(end + std::min(blanks, std::max<size_t>(end, 5) - end + 1));
  }
  rest = parse_stamp(rest, out);
  if (rest.empty()) return false;
  if (rest.starts_with("+++ ")) {
    out->kind = rest.starts_with("+++ superseded") ? Line::other : Line::ended;
    return true;
  }
  if (rest.starts_with("--- ")) return true;
  if (rest.starts_with("<... ")) {
    rest.remove_prefix(5);
    const size_t name = rest.find(" resumed>");
    if (name == std::string_view::npos) return false;
    out->kind = Line::resumed;
    out->name = rest.substr(0, name);
    out->text = rest.substr(name + strlen(" resumed>"));
    return true;
  }
  const size_t open = rest.find('(');
  if (open == std::string_view::npos || !is_call_name(rest.substr(0, open))) return false;
  out->name = rest.substr(0, open);
  out->kind = Line::call;
  for (std::string_view mark : {"<unfinished ...>", "<detached ...>"})
    if (rest.ends_with(mark)) {
      out->kind = Line::unfinished;
      rest.remove_suffix(mark.size());
    }
  out->text = rest;
  return true;
}

bool is_call_name(std::string_view name) { return !name.empty() && std::all_of(name.begin(), name.end(), word); }

bool parse_call(std::string_view text, Call* out) {
  *out = {};
  const size_t open = text.find('(');
  if (open == std::string_view::npos) return false;
  out->name = text.substr(0, open);
  const size_t close = split(text.substr(open + 1), &out->args);
  if (close == std::string_view::npos) return false;
  std::string_view rest = trimmed(text.substr(open + 1 + close + 1));
  if (!rest.starts_with("= ")) return false;
  rest = trimmed(rest.substr(2));
  parse_duration(&rest, &out->duration);
  if (rest.starts_with('?')) return true;
  if (!parse_number(rest, &out->result)) return false;
  out->returned = true;
  const size_t number = std::min(rest.find_first_of(" <"), rest.size());
  if (rest.substr(0, number) == "-1") {
    std::string_view name = trimmed(rest.substr(number));
    name = name.substr(0, name.find(' '));
    out->error = error_number(name);
    if (!out->error) out->returned = name.empty();  // "-1" alone is a result; -1 ERESTARTSYS means that the call was restarted
  } else if (number < rest.size() && rest[number] == '<') {
    const size_t end = angle_end(rest, number);
    if (end == std::string_view::npos) return false;
    if (rest.substr(end).find("(deleted)") != 0) out->path = rest.substr(number + 1, end - number - 2);
  }
  return true;
}

bool parse_string(std::string_view arg, std::string* out, bool* cut) {
  out->clear();
  if (!arg.starts_with('"')) return false;
  const size_t end = string_end(arg, 0);
  if (end == std::string_view::npos) return false;
  if (cut) *cut = arg.substr(end).starts_with("...");
  unescape_c(arg.substr(1, end - 2), out);
  return true;
}

bool parse_number(std::string_view arg, int64_t* out) {
  const bool minus = arg.starts_with('-');
  if (minus) arg.remove_prefix(1);
  int base = 10;
  if (arg.starts_with("0x")) {
    base = 16;
    arg.remove_prefix(2);
  } else if (arg.size() > 1 && arg[0] == '0') {
    base = 8;
  }
  uint64_t value = 0;
  auto [end, error] = std::from_chars(arg.data(), arg.data() + arg.size(), value, base);
  if (error != std::errc() || end == arg.data()) return false;
  *out = int64_t(minus ? 0 - value : value);
  return true;
}

bool parse_descriptor(std::string_view arg, int* fd, std::string* path) {
  path->clear();
  const size_t open = std::min(arg.find('<'), arg.size());
  const std::string_view number = arg.substr(0, open);
  int64_t value;
  if (number == "AT_FDCWD")
    value = -100;
  else if (!parse_number(number, &value))
    return false;
  *fd = int(value);
  if (open < arg.size()) {
    const size_t end = angle_end(arg, open);
    if (end == std::string_view::npos) return false;
    unescape_c(arg.substr(open + 1, end - open - 2), path);
    if (arg.substr(end).starts_with("(deleted)")) *path += " (deleted)";
  }
  return true;
}

std::vector<std::string_view> list(std::string_view bracketed) {
  std::vector<std::string_view> out;
  if (bracketed.starts_with('[') || bracketed.starts_with('{')) split(bracketed.substr(1), &out);
  return out;
}

std::string_view field(std::string_view structure, std::string_view name) {
  for (std::string_view part : list(structure))
    if (part.size() > name.size() && part[name.size()] == '=' && part.starts_with(name)) return part.substr(name.size() + 1);
  return {};
}

void parse_stat(std::string_view structure, Attr* out) {
  *out = {};
  const std::vector<std::string_view> parts = list(structure);
  for (std::string_view part : parts) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view name = part.substr(0, equals);
    const std::string_view text = part.substr(equals + 1);
    name.remove_prefix(std::min(name.find('_') + 1, name.size()));  // st_ or stx_
    int64_t value = 0;
    auto take = [&](uint32_t bit, auto* into) {
      if (!parse_number(text, &value)) return;
      *into = static_cast<std::remove_pointer_t<decltype(into)>>(value);
      out->valid |= bit;
    };
    if (name == "mode") {
      out->mode = uint32_t(parse_flags(text));
      out->valid |= kAttrMode;
    }
    if (name == "size") take(kAttrSize, &out->size);
    if (name == "nlink") take(kAttrNlink, &out->nlink);
    if (name == "uid") take(kAttrUid, &out->uid);
    if (name == "gid") take(kAttrGid, &out->gid);
    if (name == "blocks") take(kAttrBlocks, &out->blocks);
  }
}

}  // namespace fsr::strace
