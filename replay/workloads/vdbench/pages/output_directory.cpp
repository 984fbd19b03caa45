// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/output_directory.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace fsr::vdbench {

namespace {

constexpr std::string_view kTitle = "<title>Vdbench ";  // as of the original's pages

std::mutex unwritten_mutex;
std::string unwritten;  // "FILE: why" of the first page that lacks text

// True for a page of an earlier run, also of the original or empty, and false for other people's.
bool is_page(const std::filesystem::path& file) {
  std::error_code error;
  if (file.extension() != ".html" || !is_regular_file(symlink_status(file, error))) return false;
  if (file_size(file, error) == 0 || file.filename() == "curves.html") return true;
  std::string begin(kTitle.size(), ' ');
  return std::ifstream(file).read(begin.data(), std::streamsize(begin.size())) && begin == kTitle;
}

}  // namespace

Page::Page(const std::string& directory, const std::string& name) {
  if (directory.empty()) return;
  path_ = directory + "/" + name + ".html";
  file_ = fopen(path_.c_str(), "wxe");  // fails if a page of this name exists
  if (!file_)
    throw std::runtime_error(path_ + ": " + strerror(errno) +
                             (errno == EEXIST ? ", and is no page of vdbench; move it, or name another directory with -o" : ""));
  put(fmt::format("{}{}/{}.html</title><pre>\n", kTitle, html_text(std::filesystem::path(directory).filename()), name));
}

Page::~Page() {
  if (file_) fclose(file_);
}

void Page::put(const std::string& text) {
  if (!file_) return;
  if (fwrite(text.data(), 1, text.size(), file_) == text.size() && fflush(file_) == 0) return;
  const int error = errno;
  const std::lock_guard lock(unwritten_mutex);
  if (unwritten.empty()) unwritten = path_ + ": " + strerror(error);
}

void check_pages() {
  const std::lock_guard lock(unwritten_mutex);
  if (!unwritten.empty()) throw std::runtime_error(unwritten);
}

std::string page_name(const std::string& name) {
  std::string file = name;
  std::replace(file.begin(), file.end(), '/', '_');
  return file;
}

std::string html_text(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string plain_text(std::string html) {
  for (const auto& [escaped, plain] : {std::pair("&lt;", "<"), std::pair("&gt;", ">"), std::pair("&amp;", "&")})
    for (size_t at = 0; (at = html.find(escaped, at)) != std::string::npos; ++at) html.replace(at, strlen(escaped), plain);
  return html;
}

std::string make_output_directory(const std::string& asked) {
  namespace fs = std::filesystem;
  std::string directory = asked;
  std::error_code error;
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  if (directory.ends_with('+')) {
    directory.pop_back();
    for (unsigned n = 1; n <= 998; ++n) {
      const std::string numbered = fmt::format("{}{:03}", directory, n);
      if (fs::exists(numbered, error)) continue;
      directory = numbered;
      break;
    }
    if (directory + "+" == asked)
      throw std::runtime_error(asked + ": 998 directories with this name exist already; remove some, or name another with -o");
  } else if (directory.ends_with(".tod")) {
    directory = fmt::format("{}.{:%y%m%d.%H%M%S}", directory.substr(0, directory.size() - 4), fmt::localtime(time(nullptr)));
  }
  fs::create_directories(directory, error);
  if (error) throw std::runtime_error(directory + ": " + error.message());
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
    if (is_page(entry.path())) fs::remove(entry.path(), error);
  return directory;
}

}  // namespace fsr::vdbench
