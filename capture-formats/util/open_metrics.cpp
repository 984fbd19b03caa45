// SPDX-License-Identifier: Apache-2.0
#include "open_metrics.hpp"

#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "util/units.hpp"

namespace fsr {

// A label's value: any bytes as text.
static std::string quoted(std::string_view value) {
  std::string out = "\"";
  for (char c : escape_text(value)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

void OpenMetrics::metric(std::string_view name, Type type, std::string_view help) {
  constexpr const char* kNames[] = {"counter", "gauge", "summary", "info"};
  name_ = name;
  type_ = type;
  text_ += fmt::format("# TYPE {0} {1}\n# HELP {0} {2}\n", name, kNames[unsigned(type)], help);
}

void OpenMetrics::sample(const Labels& labels, double value, std::string_view suffix) {
  text_ += name_;
  text_ += type_ == Type::counter ? "_total" : type_ == Type::info ? "_info" : suffix;
  for (size_t i = 0; i < labels.size(); ++i)
    text_ += fmt::format("{}{}={}", i ? "," : "{", labels[i].first, quoted(labels[i].second));
  text_ += fmt::format("{} {:.9g}\n", labels.empty() ? "" : "}", value);
}

std::string OpenMetrics::finish() { return text_ + "# EOF\n"; }

std::string replace_file(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.partial-{}", path, getpid());
  FILE* file = fopen(temporary.c_str(), "we");
  if (!file) return path + ": " + strerror(errno);
  bool ok = fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = errno;
  if (fclose(file) != 0 && ok) ok = false, error = errno;
  if (ok && rename(temporary.c_str(), path.c_str()) == 0) return "";
  if (ok) error = errno;
  unlink(temporary.c_str());
  return path + ": " + strerror(error);
}

}  // namespace fsr
