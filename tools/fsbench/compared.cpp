// SPDX-License-Identifier: Apache-2.0
#include "compared.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace fsr::fsbench {

namespace {

constexpr size_t kLongestText = 64 << 10;  // bytes; larger files are data and not shown

// Returns the content of a text file. Empty: it is none.
std::string text_of(const std::string& name) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(name, error)) return "";
  std::ifstream in(name, std::ios::binary);
  std::string text(kLongestText + 1, '\0');
  in.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(in.gcount()));
  return text.size() > kLongestText || text.find('\0') != text.npos ? "" : text;
}

}  // namespace

std::vector<NamedText> texts_named_in(const Words& arguments) {
  std::vector<NamedText> files;
  for (const std::string& a : arguments) {
    // Arguments of the form CONFIG, --mix=CONFIG and -fCONFIG.
    std::string name = a;
    if (a.starts_with("--"))
      name = a.substr(std::min(a.find('='), a.size() - 1) + 1);
    else if (a.starts_with("-"))
      name = a.substr(std::min<size_t>(2, a.size()));
    if (const std::string text = text_of(name); !text.empty()) files.push_back({name, text});
  }
  return files;
}

bool has_option(const Words& arguments, std::string_view option) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& a) { return a.starts_with(option); });
}

std::string first_word(const Words& arguments, std::span<const std::string_view> flags) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    if (!a.starts_with("-")) return a;
    const bool has_value = a.starts_with("--") ? a.find('=') != std::string::npos : a.size() > 2;
    if (!has_value && std::find(flags.begin(), flags.end(), a) == flags.end()) ++i;
  }
  return "";
}

}  // namespace fsr::fsbench
