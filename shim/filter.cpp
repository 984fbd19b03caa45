// SPDX-License-Identifier: Apache-2.0
#include "filter.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "op_kinds.hpp"
#include "trace/paths.hpp"
#include "util/account.hpp"

namespace fsr::shim {

namespace {

constexpr int kMaxDepth = 4096;           // most components of a path; the kernel accepts no longer path
constexpr size_t kKeptRemoved = 1 << 16;  // deleted objects that may still be open

bool number_of(const std::string& text, uint64_t* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void PathMap::put(ObjectId parent, std::string_view name, ObjectId object) {
  if (!object || object == kRootObject || !parent || name.empty()) return;
  Name& entry = names_[object];
  if (entry.parent != parent || entry.name != name)
    if (entry.parent || some_unknown_) ++renames_;
  entry.parent = parent;
  entry.name = name;
  entry.removed = false;
}

void PathMap::remove(ObjectId parent, std::string_view name, ObjectId object) {
  auto at = names_.find(object);
  if (at == names_.end() || at->second.removed || at->second.parent != parent || at->second.name != name) return;
  at->second.removed = true;
  removed_.push_back(object);
  while (removed_.size() > kKeptRemoved) {
    auto oldest = names_.find(removed_.front());
    if (oldest != names_.end() && oldest->second.removed) names_.erase(oldest);
    removed_.pop_front();
  }
}

void PathMap::learn(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return;
  visit_names(
      op, [this](ObjectId parent, std::string_view name, ObjectId object) { put(parent, name, object); },
      [this](ObjectId parent, std::string_view name, ObjectId object) { remove(parent, name, object); });
}

std::string PathMap::path(ObjectId object) const {
  if (object == kRootObject) return ".";
  auto at = names_.find(object);
  return at == names_.end() ? std::string() : path(at->second.parent, at->second.name);
}

// A user can make directories that are thousands deep, and the writer asks for a path at each operation there.
const std::string& PathMap::directory_path(ObjectId directory) const {
  Known& known = known_[directory % known_.size()];
  if (known.directory == directory && known.renames == renames_) return known.path;
  std::vector<const std::string*> names;
  ObjectId object = directory;
  for (auto at = names_.begin(); object != kRootObject && names.size() < kMaxDepth; object = at->second.parent) {
    if (at = names_.find(object); at == names_.end()) break;
    names.push_back(&at->second.name);
  }
  known = {directory, renames_, {}};
  some_unknown_ |= object != kRootObject;
  if (object == kRootObject)
    for (; !names.empty(); names.pop_back()) known.path += (known.path.empty() ? "" : "/") + *names.back();
  return known.path;
}

std::string PathMap::path(ObjectId parent, std::string_view name) const {
  if (parent == kRootObject) return std::string(name);
  const std::string& above = directory_path(parent);
  return above.empty() ? above : above + "/" + std::string(name);
}

void OpFilter::add(std::string_view given, bool exclude) {
  const size_t equals = given.find('=');
  const std::string key(given.substr(0, equals));
  if (equals == std::string_view::npos || equals + 1 == given.size())
    throw std::invalid_argument("expected uid=, process=, op= or path=, followed by a value");
  Rule rule{.key = Key::path, .exclude = exclude, .patterns = {}, .numbers = {}};
  if (key == "uid")
    rule.key = Key::uid;
  else if (key == "process")
    rule.key = Key::process;
  else if (key == "op")
    rule.key = Key::op;
  else if (key != "path")
    throw std::invalid_argument(key + ": unknown filter; expected uid, process, op or path");
  std::string_view rest = given.substr(equals + 1);
  while (!rest.empty()) {
    // A path may hold commas.
    const size_t comma = rule.key == Key::path ? rest.size() : std::min(rest.find(','), rest.size());
    const std::string value(rest.substr(0, comma));
    rest.remove_prefix(std::min(rest.size(), comma + 1));
    uint64_t number;
    if (rule.key == Key::uid) {
      const auto id = user_id(value);
      if (!id) throw std::invalid_argument("uid=" + value + ": no such user");
      rule.numbers.push_back(*id);
    } else if (rule.key == Key::op) {
      try {
        rule.numbers.push_back(uint64_t(op_kind_named(value)));
      } catch (const std::invalid_argument& e) {
        throw std::invalid_argument("op=" + value + ": " + e.what());
      }
    } else if (rule.key == Key::process && number_of(value, &number)) {
      rule.numbers.push_back(number);
    } else {
      rule.patterns.push_back(value);
    }
  }
  text_ += (text_.empty() ? "" : " ") + std::string(exclude ? "--exclude " : "--only ") + std::string(given);
  by_path_ |= rule.key == Key::path;
  for (Rule& r : rules_) {
    if (r.key != rule.key || r.exclude != exclude) continue;
    r.patterns.insert(r.patterns.end(), rule.patterns.begin(), rule.patterns.end());
    r.numbers.insert(r.numbers.end(), rule.numbers.begin(), rule.numbers.end());
    return;
  }
  rules_.push_back(std::move(rule));
}

bool OpFilter::path_matches(const Rule& rule, const Op& op) const {
  auto any = [&](const std::string& path) {
    return !path.empty() && std::any_of(rule.patterns.begin(), rule.patterns.end(),
                                        [&](const std::string& p) { return fnmatch(p.c_str(), path.c_str(), 0) == 0; });
  };
  switch (op.kind) {
    case OpKind::rename:
      return any(paths_.path(op.parent, op.name)) || any(paths_.path(op.parent2, op.name2));
    case OpKind::link:
      return any(paths_.path(op.object)) || any(paths_.path(op.parent2, op.name2));
    case OpKind::tmpfile:
      return any(paths_.path(op.parent));
    case OpKind::copy_file_range:
      return any(paths_.path(op.object)) || any(paths_.path(op.object2));
    default:
      return any(has_path_name(op.kind) ? paths_.path(op.parent, op.name) : paths_.path(op.object));
  }
}

bool OpFilter::matches(const Rule& rule, const Op& op) const {
  auto number = [&](uint64_t n) { return std::find(rule.numbers.begin(), rule.numbers.end(), n) != rule.numbers.end(); };
  switch (rule.key) {
    case Key::uid:
      return number(op.uid);
    case Key::op:
      return number(uint64_t(op.kind));
    case Key::process: {
      if (!op.who) return false;
      if (number(uint64_t(op.who->pid))) return true;
      const std::string command(op.who->command);
      return std::any_of(rule.patterns.begin(), rule.patterns.end(),
                         [&](const std::string& p) { return fnmatch(p.c_str(), command.c_str(), 0) == 0; });
    }
    case Key::path:
      return path_matches(rule, op);
  }
  return false;
}

OpFilter::Early OpFilter::early() const {
  Early early;
  if (by_path_) return early;
  auto take = [](Early::Ids& ids, const std::vector<uint64_t>& numbers) {
    ids.given = true;
    for (const uint64_t n : numbers)
      if (n <= UINT32_MAX) ids.numbers.push_back(uint32_t(n));
  };
  for (const Rule& rule : rules_) {
    if (rule.key == Key::uid) take(rule.exclude ? early.except_uids : early.only_uids, rule.numbers);
    // A command's name is an alternative to the numbers.
    if (rule.key == Key::process && rule.exclude && !rule.numbers.empty()) take(early.except_pids, rule.numbers);
    if (rule.key == Key::process && !rule.exclude && rule.patterns.empty()) take(early.only_pids, rule.numbers);
    if (rule.key != Key::op) continue;
    for (unsigned kind = 0; kind < kOpKinds; ++kind)
      if ((std::find(rule.numbers.begin(), rule.numbers.end(), kind) != rule.numbers.end()) == rule.exclude)
        early.unwanted[kind] = true;
  }
  return early;
}

bool OpFilter::wants(const Op& op) const {
  return std::all_of(rules_.begin(), rules_.end(), [&](const Rule& rule) { return matches(rule, op) != rule.exclude; });
}

}  // namespace fsr::shim
