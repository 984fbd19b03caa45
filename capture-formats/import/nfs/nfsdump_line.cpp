// SPDX-License-Identifier: Apache-2.0
#include "nfsdump_line.hpp"

#include <algorithm>

#include "import/import_text.hpp"

namespace fsr::capture {

namespace {

bool parse_address(std::string_view word, std::string* out) {
  const size_t point = word.rfind('.');
  uint32_t port;
  *out = word;
  return point != std::string_view::npos && point > 0 && parse_whole(word.substr(point + 1), &port, 16);
}

bool is_handle(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string_view next_nfsdump_word(std::string_view* text) {
  const size_t begin = std::min(text->find_first_not_of(' '), text->size());
  text->remove_prefix(begin);
  size_t end = text->find(' ');
  if (text->starts_with('"')) {
    end = text->find('"', 1);
    if (end != std::string_view::npos) ++end;
  }
  end = std::min(end, text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(end);
  return word;
}

bool parse_nfsdump_time(std::string_view text, int64_t* ns) {
  const size_t point = text.find('.');
  int64_t seconds, micro;
  if (point == std::string_view::npos || !parse_whole(text.substr(0, point), &seconds) ||
      !parse_whole(text.substr(point + 1), &micro))
    return false;
  if (seconds < 0 || seconds > UINT32_MAX || micro < 0 || micro >= 1'000'000) return false;
  *ns = seconds * 1'000'000'000 + micro * 1000;
  return true;
}

bool parse_nfsdump_line(std::string_view text, NfsdumpLine* out) {
  uint32_t number;
  if (!parse_nfsdump_time(next_nfsdump_word(&text), &out->time) || !parse_address(next_nfsdump_word(&text), &out->flow.from) ||
      !parse_address(next_nfsdump_word(&text), &out->flow.to))
    return false;
  const std::string_view transport = next_nfsdump_word(&text), kind = next_nfsdump_word(&text);
  if ((transport != "T" && transport != "U") || kind.size() < 2 || (kind[0] != 'C' && kind[0] != 'R')) return false;
  out->call = kind[0] == 'C';
  if (kind[1] == 'U') {  // another version, without further fields: "CU4"
    out->version = 0;
    return parse_whole(kind.substr(2), &number);
  }
  if (kind != "C2" && kind != "R2" && kind != "C3" && kind != "R3") return false;
  out->version = unsigned(kind[1] - '0');
  if (!parse_whole(next_nfsdump_word(&text), &out->xid, 16) || !parse_whole(next_nfsdump_word(&text), &number, 16)) return false;
  out->request = text.substr(std::min(text.find_first_not_of(' '), text.size()));
  out->procedure = next_nfsdump_word(&text);
  out->rest = text;
  return !out->procedure.empty();
}

void NfsdumpFields::parse(std::string_view text) {
  fields_.clear();
  cut_ = false;
  for (std::string_view name = next_nfsdump_word(&text); !name.empty(); name = next_nfsdump_word(&text)) {
    if (name == "con" || name.starts_with("con=") || name.starts_with("status=")) return;
    // These words mark a packet or a string that ended early.
    if (name == "SHORT" || name == "..." || name.starts_with("+|+") || name.starts_with("+/+")) {
      cut_ = true;
      return;
    }
    std::string_view after = text;
    const std::string_view value = next_nfsdump_word(&after);
    // A handle that was not returned leaves its name alone.
    if (name == "fh" && !is_handle(value)) continue;
    fields_.push_back({name, value});
    text = after;
  }
}

const NfsdumpFields::Field* NfsdumpFields::find(std::string_view name) const {
  const auto it = std::find_if(fields_.begin(), fields_.end(), [&](const Field& f) { return f.name == name; });
  return it == fields_.end() ? nullptr : &*it;
}

bool NfsdumpFields::number(std::string_view name, uint64_t* out) const {
  const Field* f = find(name);
  return f && parse_whole(f->value, out, 16);
}

bool NfsdumpFields::number(std::string_view name, uint32_t* out) const {
  const Field* f = find(name);
  return f && parse_whole(f->value, out, 16);
}

bool NfsdumpFields::text(std::string_view name, std::string* out) const {
  const Field* f = find(name);
  return f && unquote(f->value, out);
}

bool NfsdumpFields::unquote(std::string_view value, std::string* out) {
  out->clear();
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return false;
  const std::string_view inner = value.substr(1, value.size() - 2);
  for (size_t i = 0; i < inner.size(); ++i) {
    uint8_t byte;
    if (inner[i] == '\\' && inner.size() - i > 2 && parse_whole(inner.substr(i + 1, 2), &byte, 16)) {
      out->push_back(char(byte));
      i += 2;
    } else {
      out->push_back(inner[i]);
    }
  }
  return true;
}

}  // namespace fsr::capture
