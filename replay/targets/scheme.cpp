// SPDX-License-Identifier: Apache-2.0
#include "targets/scheme.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "base/target.hpp"

namespace fsr {

namespace {

bool is_kind(std::string_view name) {
  const auto plugins = target_plugins();
  return std::any_of(plugins.begin(), plugins.end(), [&](const TargetPlugin* p) { return name == p->scheme; });
}

bool is_host(std::string_view text) {
  if (text.starts_with('[')) return text.size() > 2 && text.find(']') == text.size() - 1;
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return isalnum(c) || c == '.' || c == '-' || c == '_'; });
}

// Returns the URL that the user probably meant. Empty: `url` does not resemble a URL.
std::string meant(const std::string& url) {
  if (is_kind(url))
    return url + (url == "null" || url == "memory" ? ":" : url == "file" || url == "raw" ? ":PATH" : "://SERVER/EXPORT");
  const size_t colon = url.find(":/");
  if (colon == url.npos || url.starts_with("/") || url.compare(colon, 3, "://") == 0) return "";
  const std::string host = url.substr(0, colon);
  return is_host(host) && !is_kind(host) ? "nfs://" + host + url.substr(colon + 1) : "";
}

}  // namespace

bool names_target(const std::string& url) { return is_kind(scheme_of(url)); }

void refuse_near_url(const std::string& url) {
  const std::string likely = meant(url);
  if (!likely.empty() && access(url.c_str(), F_OK) != 0)
    throw std::runtime_error(url + ": no such directory; did you mean " + likely + "? (a new directory: ./" + url + ")");
}

}  // namespace fsr
