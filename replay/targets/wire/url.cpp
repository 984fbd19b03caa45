// SPDX-License-Identifier: Apache-2.0
#include "targets/wire/url.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace fsr::wire {

namespace {

[[noreturn]] void bad(const std::string& url, const std::string& why) {
  throw std::runtime_error("bad URL '" + url + "': " + why);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode(const std::string& url, std::string_view part) {
  std::string out;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      out += part[i];
      continue;
    }
    int high = i + 1 < part.size() ? hex_digit(part[i + 1]) : -1, low = i + 2 < part.size() ? hex_digit(part[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0)) bad(url, "'%' must be followed by two hexadecimal digits");
    out += char(high * 16 + low);
    i += 2;
  }
  return out;
}

template <class T>
bool whole_number(std::string_view text, T* value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

void parse_host(Url& url, std::string_view host) {
  std::string_view port;
  bool has_port = false;
  if (host.starts_with('[')) {
    size_t close = host.find(']');
    if (close == std::string_view::npos) bad(url.text, "']' is missing");
    std::string_view rest = host.substr(close + 1);
    host = host.substr(1, close - 1);
    if (!rest.empty() && rest[0] != ':') bad(url.text, "':' and a port must follow ']'");
    has_port = !rest.empty();
    if (has_port) port = rest.substr(1);
  } else if (size_t colon = host.rfind(':'); colon != std::string_view::npos) {
    if (host.find(':') != colon) bad(url.text, "an IPv6 address stands in brackets, such as [::1]:2049");
    has_port = true;
    port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  url.host = decode(url.text, host);
  if (url.host.empty()) bad(url.text, "the host is missing; expected " + url.scheme + "://HOST/PATH");
  if (has_port && (!whole_number(port, &url.port) || url.port == 0)) bad(url.text, "the port must be a number from 1 to 65535");
}

}  // namespace

const std::string* Url::option(std::string_view name) const {
  for (const auto& [key, value] : options)
    if (key == name) return &value;
  return nullptr;
}

uint64_t Url::number(std::string_view name, uint64_t low, uint64_t high, uint64_t otherwise) const {
  const std::string* value = option(name);
  if (!value) return otherwise;
  uint64_t n = 0;
  if (!whole_number(*value, &n) || n < low || n > high)
    bad(text, "'" + std::string(name) + "' must be a number from " + std::to_string(low) + " to " + std::to_string(high));
  return n;
}

void Url::allow_options(std::initializer_list<std::string_view> names) const {
  for (const auto& [key, value] : options) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    std::string known;
    for (std::string_view name : names) known += std::string(known.empty() ? "" : ", ") + std::string(name);
    bad(text, "unknown option '" + key + "'; there are " + known);
  }
}

Url parse_url(const std::string& text) {
  Url url;
  url.text = text;
  std::string_view rest = text;
  size_t colon = rest.find("://");
  if (colon == std::string_view::npos || colon == 0) bad(text, "expected scheme://host/path");
  url.scheme = rest.substr(0, colon);
  rest.remove_prefix(colon + 3);

  std::string_view query;
  if (size_t mark = rest.find('?'); mark != std::string_view::npos) {
    query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  size_t slash = rest.find('/');
  std::string_view host = rest.substr(0, slash);
  if (slash != std::string_view::npos) url.path = decode(text, rest.substr(slash));
  if (size_t at = host.rfind('@'); at != std::string_view::npos) {
    url.user = decode(text, host.substr(0, at));
    host = host.substr(at + 1);
  }
  parse_host(url, host);

  while (!query.empty()) {
    size_t end = query.find('&');
    std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    if (pair.empty()) continue;
    size_t equals = pair.find('=');
    if (equals == std::string_view::npos) bad(text, "option '" + std::string(pair) + "' requires a value");
    url.options.emplace_back(decode(text, pair.substr(0, equals)), decode(text, pair.substr(equals + 1)));
  }
  return url;
}

}  // namespace fsr::wire
