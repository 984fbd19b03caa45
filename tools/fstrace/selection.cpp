// SPDX-License-Identifier: Apache-2.0
#include "selection.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "op_kinds.hpp"
#include "util/account.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

template <class Number>
bool whole_number(const std::string& text, Number* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

int64_t parse_time(const std::string& option, const std::string& text) try {
  return parse_duration(text);
} catch (const std::invalid_argument& e) {
  const std::string what = e.what(), begin = "'" + text + "': ";
  throw std::runtime_error(option + text + ": " + (what.starts_with(begin) ? what.substr(begin.size()) : what));
}

}  // namespace

void Selection::add_time_options(Command& command) {
  command.add("--from", given_.from, "begin at this time since the start (30s, 5m)");
  command.add("--to", given_.to, "end before this time since the start");
}

void Selection::add_options(Command& command) {
  command.add("--op", given_.kinds, "take only operations of these kinds (read,write)")
      .separated_by_commas()
      .often(op_kind_names());
  command.add("--process", given_.processes, "take only operations of these processes: numbers or globs of commands")
      .separated_by_commas();
  command.add("--uid", given_.uids, "take only operations of these users, by number or name").separated_by_commas();
  command.add("--path", given_.paths, "take only operations on paths that match this glob; * also matches /").repeatable();
}

void Selection::parse() {
  if (!given_.from.empty()) from_ = parse_time("--from ", given_.from);
  if (!given_.to.empty()) to_ = parse_time("--to ", given_.to);
  if (from_ >= to_) throw std::runtime_error("--from " + given_.from + " --to " + given_.to + ": --to must be later than --from");
  for (const std::string& name : given_.kinds) {
    try {
      kinds_.set(size_t(op_kind_named(name)));
    } catch (const std::invalid_argument& e) {
      throw std::runtime_error("--op " + name + ": " + e.what());
    }
  }
  for (const std::string& text : given_.processes) {
    int32_t pid;
    if (whole_number(text, &pid))
      pids_.push_back(pid);
    else
      commands_.push_back(text);
  }
  for (const std::string& text : given_.uids) {
    const auto uid = user_id(text);
    if (!uid) throw std::runtime_error("--uid " + text + ": expected a number, or the name of a user of this host");
    uids_.push_back(*uid);
  }
  paths_ = given_.paths;
}

bool Selection::path_matches(const std::string& path) const {
  return std::any_of(paths_.begin(), paths_.end(),
                     [&](const std::string& glob) { return fnmatch(glob.c_str(), path.c_str(), 0) == 0; });
}

bool Selection::matches(const Op& op, const Paths& paths) const {
  if (kinds_.any() && !kinds_.test(size_t(op.kind))) return false;
  if (!uids_.empty() && std::find(uids_.begin(), uids_.end(), op.uid) == uids_.end()) return false;
  if (!pids_.empty() || !commands_.empty()) {
    if (!op.who) return false;
    bool wanted = std::find(pids_.begin(), pids_.end(), op.who->pid) != pids_.end();
    if (!wanted && !commands_.empty()) {
      const std::string command(op.who->command);
      wanted = std::any_of(commands_.begin(), commands_.end(),
                           [&](const std::string& glob) { return fnmatch(glob.c_str(), command.c_str(), 0) == 0; });
    }
    if (!wanted) return false;
  }
  if (paths_.empty()) return true;
  if (has_path_name(op.kind)) {
    if (path_matches(paths.path(op.parent, op.name))) return true;
  } else if (op.object && path_matches(paths.path(op.object))) {
    return true;
  }
  if (op.kind == OpKind::copy_file_range && op.object2 && path_matches(paths.path(op.object2))) return true;
  return !op.name2.empty() && path_matches(paths.path(op.parent2, op.name2));
}

std::string Selection::words() const {
  std::string out;
  auto add = [&](const char* option, const std::string& value) {
    out += fmt::format("{}{} {}", out.empty() ? "" : " ", option, value);
  };
  if (!given_.from.empty()) add("--from", given_.from);
  if (!given_.to.empty()) add("--to", given_.to);
  for (const std::string& s : given_.kinds) add("--op", s);
  for (const std::string& s : given_.processes) add("--process", s);
  for (const std::string& s : given_.uids) add("--uid", s);
  for (const std::string& s : given_.paths) add("--path", s);
  return out;
}

void learn(const LiveState& state, Paths& paths) {
  state.each_name([&](ObjectId parent, std::string_view name, ObjectId object, uint32_t) { paths.learn(parent, name, object); });
}

void seek(TraceReader& reader, const Selection& selection, Paths* paths) {
  if (!paths) {
    reader.seek_time(selection.from());
    return;
  }
  LiveState state;
  reader.load_state(selection.from(), state);
  learn(state, *paths);
}

}  // namespace fsr::fstrace
