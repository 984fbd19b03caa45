// SPDX-License-Identifier: Apache-2.0
#include "inputs/mix/test_directories.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/target.hpp"
#include "targets/blocking_session.hpp"

namespace fsr {

namespace {

// Types that entries of a directory may have, by their names: S_IFREG, ... 0: none, the name is foreign.
using TypeOf = uint32_t (*)(std::string_view name);

bool all_digits(std::string_view text) {
  return text.size() >= 3 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_file_name(std::string_view name) {
  return name.ends_with(kFileSuffix) && all_digits(name.substr(0, name.size() - std::string_view(kFileSuffix).size()));
}

uint32_t type_in_test_directory(std::string_view name) {
  if (is_file_name(name) || name == "rename1" || name == "rename2") return S_IFREG;
  if (name == "dir" || name == "sym" || name == "lin") return S_IFDIR;
  if (name.starts_with("set") && all_digits(name.substr(3))) return S_IFDIR;
  return all_digits(name) ? S_IFIFO : 0;
}
uint32_t type_in_set(std::string_view name) { return is_file_name(name) ? S_IFREG : 0; }
uint32_t type_in_dir(std::string_view name) { return all_digits(name) ? S_IFDIR : 0; }
uint32_t type_in_sym(std::string_view name) { return all_digits(name) ? S_IFLNK : 0; }
uint32_t type_in_lin(std::string_view name) { return all_digits(name) ? S_IFREG : 0; }
uint32_t none(std::string_view) { return 0; }

// Functions that check something return false if `go_on` ended the check.
class Check {
 public:
  Check(Target& target, Clock& clock, ObjectId first_free, const std::function<bool()>& go_on)
      : session_(target, clock), next_(first_free), go_on_(go_on) {}

  bool test_directory(const std::string& name) {
    if (!go_on_()) return false;
    const ObjectId object = next_++;
    const Outcome& seen = session_.perform({.kind = OpKind::lookup, .object = object, .parent = kRootObject, .name = name});
    if (seen.error) return true;  // it is missing, or what makes it finds the error
    if (!S_ISDIR(seen.attr.mode)) refuse(name, S_IFDIR);
    const bool ours = marked(object, name);
    return each_entry(object, [&](const Found& found) {
      if (!ours && !is_left_alone(found))
        throw std::runtime_error(fmt::format(
            "{}: not empty, and no mix has made it (there is no {}/{}); move its files away, or use another directory", name,
            name, kMarkerName));
      return entry(object, found, name, type_in_test_directory);
    });
  }

 private:
  struct Found {
    std::string name;
    uint32_t type;
  };

  // Clients, servers and file systems make such files.
  static bool is_left_alone(const Found& found) { return found.name.starts_with('.') || found.name == kLostAndFound; }

  // True: a mix has made the directory.
  bool marked(ObjectId directory, const std::string& path) {
    const Outcome& seen = session_.perform({.kind = OpKind::lookup, .object = next_++, .parent = directory, .name = kMarkerName});
    if (seen.error) return false;
    if (S_ISREG(seen.attr.mode) && seen.attr.size == 0) return true;
    throw std::runtime_error(fmt::format("{}: holds the replay of a trace; use another directory", path));
  }

  // Checks an entry of directory `object` and, if it is a directory, what is in it.
  bool entry(ObjectId object, const Found& found, const std::string& path, TypeOf type_of) {
    if (is_left_alone(found)) return true;
    const std::string below = path + "/" + found.name;
    const uint32_t expected = type_of(found.name);
    if (!expected) refuse(below, 0);
    const bool inside = expected == S_IFDIR;
    uint32_t type = found.type;
    const ObjectId child = next_;
    if (type == 0 || inside) {
      if (!go_on_()) return false;
      const Outcome& seen = session_.perform({.kind = OpKind::lookup, .object = next_++, .parent = object, .name = found.name});
      if (seen.error == ENOENT) return true;
      type = seen.attr.mode & S_IFMT;
    }
    if (type != expected) refuse(below, expected);
    if (!inside) return true;
    const TypeOf type_below = type_of != type_in_test_directory ? none : inner(found.name);
    return each_entry(child, [&](const Found& one) { return entry(child, one, below, type_below); });
  }

  static TypeOf inner(std::string_view name) {
    return name == "dir" ? type_in_dir : name == "sym" ? type_in_sym : name == "lin" ? type_in_lin : type_in_set;
  }

  // Calls `act` with each entry, one part of the listing after the other, because there may be millions.
  template <class Act>
  bool each_entry(ObjectId object, Act act) {
    const HandleId handle = next_++;
    if (!go_on_()) return false;
    if (session_.perform({.kind = OpKind::opendir, .object = object, .handle = handle}).error) return true;
    bool going_on = true;
    for (uint64_t seen = 0; going_on && (going_on = go_on_());) {
      const Outcome& o =
          session_.perform({.kind = OpKind::readdir, .object = object, .handle = handle, .offset = seen, .length = 65536});
      if (o.error || o.entries.empty()) break;
      std::vector<Found> part;
      for (const DirEntry& e : o.entries) part.push_back({std::string(e.name), e.type & S_IFMT});
      seen += part.size();
      going_on = std::all_of(part.begin(), part.end(), act);
    }
    session_.perform({.kind = OpKind::releasedir, .object = object, .handle = handle});
    return going_on;
  }

  [[noreturn]] static void refuse(const std::string& path, uint32_t expected) {
    const char* what = expected == S_IFREG   ? "expected a regular file, found something else"
                       : expected == S_IFDIR ? "expected a directory, found something else"
                       : expected == S_IFLNK ? "expected a symbolic link, found something else"
                       : expected == S_IFIFO ? "expected a pipe, found something else"
                                             : "expected only what a mix creates";
    throw std::runtime_error(fmt::format("{}: {}; move this out of the test directory, or use another directory", path, what));
  }

  BlockingSession session_;
  ObjectId next_;
  const std::function<bool()>& go_on_;
};

}  // namespace

bool refuse_foreign_files(Target& target, Clock& clock, const std::vector<StreamFiles>& directories, ObjectId first_free,
                          const std::function<bool()>& go_on) {
  if (target.empty()) return true;
  Check check(target, clock, first_free, go_on);
  return std::all_of(directories.begin(), directories.end(),
                     [&](const StreamFiles& one) { return check.test_directory(one.name); });
}

}  // namespace fsr
