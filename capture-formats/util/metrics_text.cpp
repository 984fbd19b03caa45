// SPDX-License-Identifier: Apache-2.0
#include "metrics_text.hpp"

#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

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

void MetricsText::metric(std::string_view name, Type type, std::string_view help) {
  constexpr const char* kNames[] = {"counter", "gauge", "summary", "gauge"};
  name_ = fmt::format("{}{}", name, type == Type::counter ? "_total" : type == Type::info ? "_info" : "");
  text_ += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name_, kNames[unsigned(type)], help);
}

void MetricsText::sample(const Labels& labels, double value, std::string_view suffix) {
  text_ += name_;
  text_ += suffix;
  for (size_t i = 0; i < labels.size(); ++i)
    text_ += fmt::format("{}{}={}", i ? "," : "{", labels[i].first, quoted(labels[i].second));
  text_ += fmt::format("{} {:.9g}\n", labels.empty() ? "" : "}", value);
}

std::string MetricsText::finish() { return text_ + "# EOF\n"; }

// True if another file can take the name of the file at `path`. False for a device, a pipe, the file behind standard output, and
// a link to a missing file: these are written to.
static bool is_replaceable(const char* path) {
  struct stat s, out;
  if (stat(path, &s) != 0) return lstat(path, &s) != 0;
  const bool printed_to = fstat(STDOUT_FILENO, &out) == 0 && s.st_dev == out.st_dev && s.st_ino == out.st_ino;
  return S_ISREG(s.st_mode) && !printed_to;
}

// 0 or errno.
static int write_text(const std::string& path, const char* mode, std::string_view text) {
  FILE* file = fopen(path.c_str(), mode);
  if (!file) return errno;
  const bool written = fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  return fclose(file) != 0 && written ? errno : written ? 0 : error;
}

std::string replace_file(const std::string& path, std::string_view text) {
  int error = 0;
  if (is_replaceable(path.c_str())) {
    std::error_code absent;
    const std::filesystem::path target = std::filesystem::canonical(path, absent);  // behind links
    const std::string name = absent ? path : target.string(), temporary = fmt::format("{}.partial-{}", name, getpid());
    error = write_text(temporary, "we", text);
    if (error == 0 && rename(temporary.c_str(), name.c_str()) != 0) error = errno;
    if (error != 0) unlink(temporary.c_str());
  } else {
    error = write_text(path, "ae", text);
  }
  return error == 0 ? "" : path + ": " + strerror(error);
}

}  // namespace fsr
