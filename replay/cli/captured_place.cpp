// SPDX-License-Identifier: Apache-2.0
#include "cli/captured_place.hpp"

#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "targets/file/file_target.hpp"
#include "targets/scheme.hpp"
#include "util/directory_identity.hpp"
#include "util/mountinfo.hpp"
#include "util/unique_fd.hpp"

namespace fsr {

namespace {

// True: the target is a directory, as a path or with "file:".
bool is_directory(const std::string& url) { return scheme_of(url).empty() || scheme_of(url) == "file"; }

std::string own_host() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string resolved(const std::string& path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) ? buffer : path;
}

bool inside(const std::string& path, const std::string& folder) {
  return path == folder || (path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 &&
                            (folder == "/" || path[folder.size()] == '/'));
}

// Returns the source of a mount of `url`, as mountinfo names it: "nfs://host:2049/export?version=3" -> "host:/export".
std::string nfs_source(const std::string& url) {
  std::string rest = url.substr(url.find("//") + 2);
  size_t slash = rest.find('/');
  if (slash == std::string::npos) return {};
  std::string host = rest.substr(0, slash), path = rest.substr(slash, rest.find('?') - slash);
  return host.substr(0, host.find(':')) + ":" + path;
}

// True: the directory is reached through a running capture of the directory in `header`.
bool through_capture(const std::string& directory, const TraceHeader& header) {
  const UniqueFd fd(open(directory.c_str(), O_PATH | O_CLOEXEC));
  const std::optional<MountEntry> mount = fd ? mount_of(fd.get()) : std::nullopt;
  return mount && mount->type == "fuse.fsshim" && mount->source == header.directory;
}

// True: the mount is of a FUSE server, which may pass requests through to another directory of this machine.
bool is_fuse(const MountEntry& mount) {
  return (mount.type == "fuse" || mount.type.starts_with("fuse.")) && mount.type != "fuse.fsshim";
}

// Returns the directories of which an overlay is made (Documentation/filesystems/overlayfs.rst), or those that a FUSE server
// names as its source (bindfs; fuse.mergerfs shortens the paths in its source). Commas and colons in paths are not known.
std::vector<std::string> layers_of(const MountEntry& mount) {
  std::vector<std::string> layers;
  auto add = [&](const std::string& text) {
    std::istringstream list(text);
    for (std::string layer; std::getline(list, layer, ':');)
      if (!layer.empty()) layers.push_back(layer);
  };
  if (is_fuse(mount) && mount.source.starts_with("/")) add(mount.source);
  if (mount.type != "overlay") return layers;
  std::istringstream options(mount.options);
  for (std::string option; std::getline(options, option, ',');)
    if (option.starts_with("lowerdir") || option.starts_with("upperdir"))
      add(option.substr(std::min(option.find('='), option.size() - 1) + 1));
  return layers;
}

struct Place {
  DirectoryIdentity identity;
  std::string path;  // absolute
};

// Returns where a place on the mount lies in a layer of it. *missing: it does not exist there, and its nearest parent is
// returned.
DirectoryIdentity in_layer(const Place& place, const MountEntry& mount, std::string layer, bool& missing) {
  const std::string point = mount.point == "/" ? "" : mount.point;
  if (inside(place.path, mount.point)) layer += mount.root + "/" + place.path.substr(point.size());
  return directory_identity(layer, missing);
}

// True: one of the directories lies on an overlay or a FUSE server, and there in the other one, or around it.
bool through_layers(const Place& target_place, const Place& captured_place) {
  const DirectoryIdentity &target = target_place.identity, &captured = captured_place.identity;
  if (target.machine.empty() || target.machine != captured.machine) return false;
  for (const MountEntry& mount : own_mounts()) {
    const bool target_on = target.self.device == mount.dev, captured_on = captured.self.device == mount.dev;
    if (target_on == captured_on) continue;
    for (const std::string& layer : layers_of(mount)) {
      bool missing = false;
      const DirectoryIdentity below = in_layer(target_on ? target_place : captured_place, mount, layer, missing);
      const DirectoryRelation relation = directory_relation(target_on ? captured : target, below);
      // A missing directory holds no other one.
      if (relation != DirectoryRelation::apart && !(missing && relation == DirectoryRelation::inside)) return true;
    }
  }
  return false;
}

}  // namespace

void refuse_captured_place(const std::string& url, const TraceHeader& header) {
  bool same = false;
  if (scheme_of(url) == "nfs" || scheme_of(url) == "nfs4") {
    same = !header.mount_source.empty() && nfs_source(url) == header.mount_source;
  } else if (is_directory(url)) {
    const std::string place = resolved(directory_of(url));
    bool missing = false;
    const DirectoryIdentity target = directory_identity(directory_of(url), missing);
    const DirectoryRelation to_captured = directory_relation(target, header.identity);
    same = (header.host == own_host() && inside(place, resolved(header.directory))) || to_captured == DirectoryRelation::same ||
           to_captured == DirectoryRelation::inside || (to_captured == DirectoryRelation::contains && !missing) ||
           through_capture(place, header) ||
           through_layers({target, std::filesystem::weakly_canonical(place)}, {header.identity, resolved(header.directory)});
  }
  if (same)
    throw std::runtime_error(url +
                             ": is, contains or lies in the directory that this trace captured, and a replay would overwrite the "
                             "files; name another target, or give --force");
}

// Addresses of a host as text; empty: it has none.
static std::set<std::string> addresses_of(const std::string& host) {
  std::set<std::string> found;
  addrinfo* list = nullptr;
  if (host.empty()) return found;
  const addrinfo hints{.ai_flags = 0, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  if (getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return found;
  for (const addrinfo* a = list; a; a = a->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) continue;
    const std::string_view address = text, mapped = "::ffff:";  // IPv4 in the form of IPv6
    found.emplace(address.substr(address.starts_with(mapped) && address.find('.') != address.npos ? mapped.size() : 0));
  }
  freeaddrinfo(list);
  return found;
}

// True: every machine reaches itself by this address (RFC 1122 3.2.1.3, RFC 4291 2.5).
static bool leads_here(const std::string& address) {
  return address.starts_with("127.") || address == "0.0.0.0" || address == "::" || address == "::1";
}

static std::set<std::string> own_addresses() {
  std::set<std::string> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* a = list; a; a = a->ifa_next) {
    char text[NI_MAXHOST];
    const int family = a->ifa_addr ? a->ifa_addr->sa_family : AF_UNSPEC;
    const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if ((family == AF_INET || family == AF_INET6) &&
        getnameinfo(a->ifa_addr, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      found.insert(text);
  }
  freeifaddrs(list);
  return found;
}

// Returns the host of "host:/path" or of the text behind "://" in a URL. Empty: there is none.
static std::string host_of(std::string text, bool url) {
  if (const size_t slashes = text.find("://"); url && slashes != std::string::npos)
    text = text.substr(slashes + 3);
  else if (url || text.find(":/") == std::string::npos)
    return {};
  if (text.starts_with("[")) return text.substr(1, text.find(']') - 1);
  text = text.substr(0, text.find(url ? '/' : ':'));
  text = text.substr(text.find('@') == std::string::npos ? 0 : text.find('@') + 1);
  return text.starts_with("[") ? text.substr(1, text.find(']') - 1) : text.substr(0, text.find(':'));
}

static bool captured_here(const TraceHeader& header) {
  bool missing = false;
  const std::string machine = directory_identity("/", missing).machine;
  return header.host == own_host() || (!machine.empty() && header.identity.machine == machine);
}

[[noreturn]] static void refuse_other_name(const std::string& url) {
  throw std::runtime_error(url +
                           ": is on the host of the capture, or on the server behind it, and may be the captured directory by "
                           "another name; name another target, or give --force if it is none");
}

void refuse_unknown_fuse(const std::string& url, const TraceHeader& header) {
  if (!is_directory(url) || !captured_here(header)) return;
  bool missing = false;
  const uint64_t device = directory_identity(directory_of(url), missing).self.device;  // of its nearest parent, if it is missing
  if (device == header.identity.self.device) return;
  for (const MountEntry& mount : own_mounts())
    if (mount.dev == device && is_fuse(mount) && layers_of(mount).empty() && host_of(mount.source, false).empty())
      refuse_other_name(url);
}

void refuse_own_server(const std::string& url, const TraceHeader& header) {
  const bool here = captured_here(header);
  std::string server = host_of(url, true);
  bool same = false;
  if (is_directory(url)) {
    const std::string directory = resolved(directory_of(url));
    const UniqueFd fd(open(directory.c_str(), O_PATH | O_CLOEXEC));
    struct stat there, captured;
    const std::optional<MountEntry> mount = fd ? mount_of(fd.get()) : std::nullopt;
    if (mount) server = host_of(mount->source, false);
    same = mount && mount->source == header.mount_source &&
           (!server.empty() || (here && fstat(fd.get(), &there) == 0 && stat(header.directory.c_str(), &captured) == 0 &&
                                there.st_ino == captured.st_ino));
    // The FUSE server of the target need not say what is behind it.
    same |= mount && here && server.empty() && is_fuse(*mount) && mount->dev != header.identity.self.device;
  }
  const std::set<std::string> there = addresses_of(server);
  auto meets = [&](const std::set<std::string>& others) {
    return std::ranges::any_of(others, [&](const std::string& address) { return there.contains(address); });
  };
  const std::string source = host_of(header.mount_source, false);
  const bool served_here = meets(own_addresses()) || std::ranges::any_of(there, leads_here) || url.find("+unix:") != url.npos;
  same |= !server.empty() && ((!source.empty() && meets(addresses_of(source))) || meets(addresses_of(header.host)));
  same |= here && served_here;
  if (header.identity.machine.empty() && (here || header.host.empty()) && (server.empty() || served_here))
    throw std::runtime_error(url +
                             ": the trace does not say which directory it captured, and the target may be that one; name another "
                             "target, or give --force if it is not");
  if (same) refuse_other_name(url);
}

}  // namespace fsr
