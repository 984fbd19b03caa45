// SPDX-License-Identifier: Apache-2.0
#include "nhfsstone_places.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/target.hpp"
#include "targets/blocking_session.hpp"
#include "targets/wire/url.hpp"

namespace fsr::fsbench {

namespace {

bool is_directory(const std::string& path) {
  struct stat st;
  return stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

// Returns the directory to which a test directory links. Empty: it is no symbolic link.
std::filesystem::path linked(const std::string& directory, const std::string& name) {
  const std::filesystem::path link = std::filesystem::path(directory) / name;
  std::error_code error;
  if (!std::filesystem::is_symlink(link, error)) return {};
  const std::filesystem::path real = std::filesystem::canonical(link, error);
  if (error) throw std::runtime_error(fmt::format("{}: a symbolic link that leads nowhere: {}", link.string(), error.message()));
  if (!is_directory(real) || !real.has_filename())
    throw std::runtime_error(
        fmt::format("{}: expected a link to a test directory, found one to {}", link.string(), real.string()));
  return real;
}

// Characters that may stand in a URL's path as they are, beside letters and digits.
constexpr std::string_view kPlain = "/._~-";

std::string encode(const std::string& path) {
  std::string text;
  for (const char c : path)
    text += std::isalnum(uint8_t(c)) || kPlain.find(c) != kPlain.npos ? std::string(1, c) : fmt::format("%{:02X}", uint8_t(c));
  return text;
}

// Follows links of test directories on servers. Their text is taken as a path of the server.
class ServerLinks {
 public:
  explicit ServerLinks(Clock& clock) : clock_(clock) {}

  // Changes `url` and `name` to the directory to which the link `name` in the root of `url` leads. False: it is no link.
  bool follow(std::string& url, std::string& name) {
    const std::string link = fmt::format("{}: {}", url.substr(0, url.find('?')), name);
    for (unsigned links = 0; links < kMostLinks; ++links) {
      Place& place = place_of(url);
      const ObjectId object = place.next++;
      const Outcome found =
          place.session.perform({.kind = OpKind::lookup, .object = object, .parent = kRootObject, .name = name});
      if (found.error || !S_ISLNK(found.attr.mode)) {
        if (links && found.error) fail(link, fmt::format("a symbolic link that leads nowhere: {}", strerror(found.error)));
        if (links && !S_ISDIR(found.attr.mode)) fail(link, "expected a link to a test directory, found one to something else");
        return links > 0;
      }
      const Outcome& text = place.session.perform({.kind = OpKind::readlink, .object = object});
      if (text.error) fail(link, fmt::format("the symbolic link can't be read: {}", strerror(text.error)));
      const std::string tree = tree_of(url);
      if (tree.empty()) fail(link, "a symbolic link; to follow it, name the server's directory in the URL");
      const std::filesystem::path real = (std::filesystem::path(tree) / text.data).lexically_normal();
      if (!real.has_filename()) fail(link, fmt::format("expected a link to a test directory, found one to {}", real.string()));
      url = with_tree(url, real.parent_path());
      name = real.filename();
    }
    fail(link, "too many symbolic links");
  }

  // Returns the URL as follow() would write it for a link that leads to its root.
  static std::string canonical(const std::string& url) {
    std::string tree = std::filesystem::path(tree_of(url)).lexically_normal();
    if (tree.size() > 1 && tree.ends_with('/')) tree.pop_back();
    return tree.empty() ? url : with_tree(url, tree);
  }

 private:
  static constexpr unsigned kMostLinks = 8;  // in a row

  struct Place {
    Place(const std::string& url, Clock& clock) : target(open_target(url, {.clock = &clock})), session(*target, clock) {}
    std::unique_ptr<Target> target;
    BlockingSession session;
    ObjectId next = kRootObject + 1;
  };

  Place& place_of(const std::string& url) {
    std::unique_ptr<Place>& place = places_[url];
    if (!place) place = std::make_unique<Place>(url, clock_);
    return *place;
  }

  // Returns the server's path of the target's root. Empty: it is not known.
  static std::string tree_of(const std::string& url) {
    // The URL of a local socket has no host. Only its options matter here.
    const bool local = url.starts_with("9p+unix:");
    const wire::Url parts = wire::parse_url(local ? "9p://local/" + url.substr(std::min(url.find('?'), url.size())) : url);
    if (const std::string* aname = parts.option("aname")) return *aname;
    return parts.path == "/" ? "" : parts.path;
  }

  static std::string with_tree(const std::string& url, const std::string& tree) {
    for (const char* option : {"?aname=", "&aname="})
      if (size_t begin = url.find(option); begin != url.npos) {
        begin += strlen(option);
        return url.substr(0, begin) + encode(tree) + url.substr(std::min(url.find('&', begin), url.size()));
      }
    const size_t path = url.find('/', url.find("://") + 3);
    return url.substr(0, path) + encode(tree) + url.substr(std::min(url.find('?'), url.size()));
  }

  [[noreturn]] static void fail(const std::string& link, const std::string& why) { throw std::runtime_error(link + ": " + why); }

  Clock& clock_;
  std::map<std::string, std::unique_ptr<Place>> places_;  // by URL
};

}  // namespace

std::string path_of(const std::string& location) { return location.starts_with("file:") ? location.substr(5) : location; }

uint64_t device_of(const std::string& location) {
  struct stat st;
  return stat(path_of(location).c_str(), &st) == 0 ? st.st_dev : 0;
}

std::vector<StonePlace> stone_places(const std::vector<std::string>& targets, unsigned processes, Clock& clock) {
  std::vector<StonePlace> places;
  ServerLinks links(clock);
  std::map<std::pair<std::string, std::string>, unsigned> used;  // number of the first test directory in each place
  for (unsigned n = 0; n < processes; ++n) {
    std::string target = targets[n % targets.size()], name = fmt::format("testdir{}", n);
    std::string parent = target;  // one spelling for each directory
    if (is_directory(path_of(target))) {
      const std::filesystem::path real = linked(path_of(target), name);
      if (!real.empty()) {
        target = real.parent_path();
        name = real.filename();
      }
      parent = std::filesystem::canonical(path_of(target));
    } else if (target.find("://") != target.npos) {
      links.follow(target, name);
      parent = ServerLinks::canonical(target);
    }
    if (const auto [other, fresh] = used.emplace(std::pair(parent, name), n); !fresh)
      throw std::runtime_error(fmt::format("testdir{} and testdir{}: expected a directory each, both lead to {} in {}",
                                           other->second, n, name, parent));
    auto place = std::find_if(places.begin(), places.end(), [&](const StonePlace& p) { return p.target == target; });
    if (place == places.end()) place = places.insert(places.end(), {target, {}, {}});
    place->numbers.push_back(n);
    place->names.push_back(name);
  }
  return places;
}

}  // namespace fsr::fsbench
