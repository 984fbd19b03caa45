// SPDX-License-Identifier: Apache-2.0
// LoggedFS: `18:04:35 (src/loggedfs.cpp:136) getattr /var/ {SUCCESS} [ pid = 8700 kded uid = 1000 ]`, with or without a date in
// front. Reads and writes are logged twice, before and after; what comes after has the outcome.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>

#include "import_text.hpp"
#include "import_tree.hpp"
#include "util/clock_ns.hpp"

namespace fsr {

namespace {

constexpr int64_t kDay = 86400 * kSecond;

struct Line {
  int64_t time = 0;  // ns since midnight
  int64_t day = -1;  // ns since the Unix epoch to that midnight; -1: the line has no date
  bool success = false;
  int32_t pid = 0;
  uint32_t uid = 0;
  std::string_view command, message;
};

bool parse_clock(std::string_view text, int64_t* time) {
  int64_t h, m, s;
  if (text.size() < 8 || text[2] != ':' || text[5] != ':' || !parse_whole(text.substr(0, 2), &h) ||
      !parse_whole(text.substr(3, 2), &m))
    return false;
  std::string seconds(text.substr(6));
  std::replace(seconds.begin(), seconds.end(), ',', '.');
  if (h < 0 || h > 23 || m < 0 || m > 59 || !parse_seconds(seconds, &s) || s > 61 * kSecond) return false;
  *time = (h * 3600 + m * 60) * kSecond + s;
  return true;
}

// "2019-01-31" or "2019/01/31".
bool parse_date(std::string_view text, int64_t* day) {
  unsigned year, month, date;
  if (text.size() != 10 || (text[4] != '-' && text[4] != '/') || text[7] != text[4] || !parse_whole(text.substr(0, 4), &year) ||
      !parse_whole(text.substr(5, 2), &month) || !parse_whole(text.substr(8), &date) || year < 1970 || year > 2200)
    return false;
  const std::chrono::year_month_day ymd{std::chrono::year(int(year)), std::chrono::month(month), std::chrono::day(date)};
  if (!ymd.ok()) return false;
  *day = std::chrono::sys_days(ymd).time_since_epoch().count() * kDay;
  return true;
}

bool parse(std::string_view text, Line* out) {
  constexpr std::string_view kGood = " {SUCCESS} [ pid = ", kBad = " {FAILURE} [ pid = ";
  size_t tail = text.rfind(kGood);
  out->success = tail != std::string_view::npos;
  if (!out->success) tail = text.rfind(kBad);
  if (tail == std::string_view::npos || !text.ends_with(" ]")) return false;
  std::string_view who = text.substr(tail + kGood.size());
  who.remove_suffix(2);
  const size_t uid = who.rfind(" uid = ");
  const size_t pid = std::min(who.find(' '), who.size());
  if (uid == std::string_view::npos || !parse_whole(who.substr(uid + 7), &out->uid) ||
      !parse_whole(who.substr(0, pid), &out->pid))
    return false;
  out->command = pid < uid ? who.substr(pid + 1, uid - pid - 1) : std::string_view();
  out->command = out->command.substr(out->command.rfind('/') + 1);
  // The clock, then perhaps the place in the source or a level, then the message: it begins where a verb or a number does.
  std::string_view head = text.substr(0, tail);
  for (bool timed = false; !head.empty();) {
    const size_t end = std::min(head.find(' '), head.size());
    const std::string_view word = head.substr(0, end);
    const bool verb = !word.empty() && ((word[0] >= 'a' && word[0] <= 'z') || (word[0] >= '0' && word[0] <= '9'));
    if (timed && verb) {
      out->message = head;
      return true;
    }
    if (!timed) parse_date(word, &out->day);
    timed |= parse_clock(word, &out->time);
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return false;
}

class LoggedFsLog {
 public:
  LoggedFsLog(const ImportOptions& options, ImportSink& sink) : tree_(options.directory), sink_(sink) {}
  void line(const Line& line);

 private:
  bool file(std::string_view path, NodeId* id);
  bool place(std::string_view path, ImportTree::Found* found);
  bool begin_of(std::string_view* text, std::string_view words) {
    if (!text->starts_with(words)) return false;
    text->remove_prefix(words.size());
    return true;
  }
  void lost() { sink_.note(ImportNotes::lost, kNotUnderstood); }
  void add(NodeId id);
  void transfer(OpKind kind, std::string_view bytes, std::string_view rest, bool after);
  void names(OpKind kind, std::string_view from, std::string_view to);
  void make(OpKind kind, std::string_view path, uint32_t mode, std::string_view target = {});
  void message(std::string_view text);
  bool named(std::string_view text);
  void remove(std::string_view path, NodeId id);
  void use_open(NodeId id);
  bool data(std::string_view text);
  bool attributes(std::string_view text, size_t to);
  bool failed(std::string_view text);

  ImportTree tree_;
  ImportSink& sink_;
  std::map<int32_t, const ThreadInfo*> threads_;
  std::map<NodeId, std::vector<HandleId>> open_;
  std::map<std::pair<int32_t, NodeId>, uint64_t> asked_;  // length of the read or write that has begun
  HandleId next_handle_ = 1;
  int64_t day_ = 0, last_ = 0;
  Op op_;
  Attr set_;
};

bool LoggedFsLog::place(std::string_view path, ImportTree::Found* found) {
  if (!path.starts_with('/')) return lost(), false;
  *found = tree_.find(kTopNode, path, false, true);
  if (found->bad) return sink_.note(ImportNotes::lost, "paths with impossible names or cycles"), false;
  if (tree_.inside(found->node ? found->node : found->parent)) return true;
  sink_.note(ImportNotes::ignored, "calls on files outside of the directory");
  return false;
}

bool LoggedFsLog::file(std::string_view path, NodeId* id) {
  ImportTree::Found found;
  if (!place(path, &found)) return false;
  *id = found.node ? found.node : tree_.make(found.parent, found.name, 0);
  return true;
}

void LoggedFsLog::add(NodeId id) {
  tree_.introduce(id, op_, sink_);
  op_.object = tree_.node(id).object;
  sink_.add(op_);
}

// "10 bytes read from PATH at offset 5", "read 10 bytes from PATH at offset 5".
void LoggedFsLog::transfer(OpKind kind, std::string_view bytes, std::string_view rest, bool after) {
  const size_t at = rest.rfind(" at offset ");
  NodeId id;
  if (at == std::string_view::npos || !parse_whole(bytes, &op_.length) || !parse_whole(rest.substr(at + 11), &op_.offset) ||
      op_.length > UINT32_MAX || op_.offset > INT64_MAX)
    return sink_.note(ImportNotes::lost, "reads and writes with wrapped or missing numbers");
  if (!file(rest.substr(0, at), &id)) return;
  uint64_t& asked = asked_[{op_.who->pid, id}];
  if (!after) {
    asked = op_.length;
    return;
  }
  op_.kind = kind;
  op_.result = op_.length;
  op_.length = std::max(asked, op_.result);
  asked_.erase({op_.who->pid, id});
  if (auto it = open_.find(id); it != open_.end()) op_.handle = it->second.back();
  add(id);
}

void LoggedFsLog::make(OpKind kind, std::string_view path, uint32_t mode, std::string_view target) {
  ImportTree::Found found;
  if (!place(path, &found)) return;
  if (found.name.empty() || !tree_.inside(found.parent)) return lost();
  op_.kind = kind;
  op_.mode = mode;
  op_.data = target;
  const uint32_t type = kind == OpKind::mkdir     ? S_IFDIR
                        : kind == OpKind::symlink ? S_IFLNK
                        : mode & S_IFMT           ? mode & S_IFMT
                                                  : S_IFREG;
  tree_.introduce(found.parent, op_, sink_);
  op_.parent = tree_.node(found.parent).object;
  op_.name = found.name;
  ImportNode& n = tree_.node(tree_.make(found.parent, found.name, type));
  n.introduced = true;
  op_.object = n.object;
  sink_.add(op_);
}

void LoggedFsLog::names(OpKind kind, std::string_view from, std::string_view to) {
  ImportTree::Found source, target;
  NodeId id;
  if (!place(from, &source) || !file(from, &id) || !place(to, &target) || source.name.empty() || target.name.empty()) return;
  if (!tree_.inside(source.parent) || !tree_.inside(target.parent)) return lost();
  op_.kind = kind;
  tree_.introduce(id, op_, sink_);
  tree_.introduce(target.parent, op_, sink_);
  op_.object = tree_.node(id).object;
  op_.parent2 = tree_.node(target.parent).object;
  op_.name2 = target.name;
  if (kind == OpKind::rename) {
    op_.parent = tree_.node(source.parent).object;
    op_.name = source.name;
  }
  sink_.add(op_);
  tree_.hold(id);
  if (kind == OpKind::rename) tree_.unbind(source.parent, source.name);
  tree_.bind(target.parent, target.name, id);
  tree_.drop(id);
}

// Adds a failed call that asks for a file as a lookup that found no file, because the log does not contain errors. Other failed
// calls are counted as lost.
bool LoggedFsLog::failed(std::string_view text) {
  for (std::string_view verb : {"getattr ", "access ", "readlink "}) {
    ImportTree::Found found;
    if (!begin_of(&text, verb)) continue;
    if (!place(text, &found)) return true;
    op_.kind = OpKind::lookup;
    op_.error = ENOENT;
    op_.op_flags = kOpInferred;
    if (found.name.empty() || !tree_.inside(found.parent)) return lost(), true;
    tree_.introduce(found.parent, op_, sink_);
    op_.parent = tree_.node(found.parent).object;
    op_.name = found.name;
    sink_.add(op_);
    tree_.unbind(found.parent, found.name);
    return true;
  }
  sink_.note(ImportNotes::lost, "failed calls whose error the log does not show");
  return true;
}

// Calls that only name a file: "getattr PATH", "open readonly PATH". False: this is none.
bool LoggedFsLog::named(std::string_view text) {
  struct Call {
    std::string_view words;
    OpKind kind;
    uint32_t flags;
  };
  static constexpr Call kCalls[] = {
      {"getattr ", OpKind::getattr, 0},
      {"access ", OpKind::access, 0},
      {"readlink ", OpKind::readlink, 0},
      {"statfs ", OpKind::statfs, 0},
      {"open readonly ", OpKind::open, O_RDONLY},
      {"open writeonly ", OpKind::open, O_WRONLY},
      {"open readwrite ", OpKind::open, O_RDWR},
      {"open ", OpKind::open, O_RDONLY},
      {"release ", OpKind::release, 0},
      {"fsync ", OpKind::fsync, 0},
      {"unlink ", OpKind::unlink, 0},
      {"rmdir ", OpKind::rmdir, 0},
  };
  const auto* call = std::find_if(std::begin(kCalls), std::end(kCalls), [&](const Call& c) { return begin_of(&text, c.words); });
  if (call == std::end(kCalls)) return false;
  NodeId id;
  if (!file(text, &id)) return true;
  op_.kind = call->kind;
  op_.open_flags = call->flags;
  if (call->kind == OpKind::unlink || call->kind == OpKind::rmdir)
    remove(text, id);
  else if (call->kind == OpKind::open || call->kind == OpKind::release || call->kind == OpKind::fsync)
    use_open(id);
  else
    add(id);
  return true;
}

void LoggedFsLog::remove(std::string_view path, NodeId id) {
  const ImportTree::Found found = tree_.find(kTopNode, path, false, true);
  if (found.name.empty() || !tree_.inside(found.parent)) return lost();
  op_.name = found.name;
  op_.parent = tree_.node(found.parent).object;
  add(id);
  tree_.unbind(found.parent, found.name);
}

// An open, a sync or a close. The log has no descriptors: the latest open of the file is meant.
void LoggedFsLog::use_open(NodeId id) {
  if (op_.kind == OpKind::open) {
    op_.handle = open_[id].emplace_back(next_handle_++);
    tree_.hold(id);
    return add(id);
  }
  const auto open = open_.find(id);
  if (open != open_.end()) op_.handle = open->second.back();
  if (op_.kind == OpKind::fsync) return add(id);
  if (!op_.handle) return sink_.note(ImportNotes::lost, "closes of files whose open was not logged");
  add(id);
  open->second.pop_back();
  if (open->second.empty()) open_.erase(open);
  tree_.drop(id);
}

// Reads and writes. False: this is none.
bool LoggedFsLog::data(std::string_view text) {
  std::vector<std::string_view> f;
  split_blanks(text, 5, &f);
  if (f.size() != 5) return false;
  if (f[1] == "bytes" && f[2] == "read" && f[3] == "from") return transfer(OpKind::read, f[0], f[4], true), true;
  if (f[1] == "bytes" && f[2] == "written" && f[3] == "to") return transfer(OpKind::write, f[0], f[4], true), true;
  if (f[0] == "read" && f[2] == "bytes") return transfer(OpKind::read, f[1], f[4], false), true;
  if (f[0] == "write" && f[2] == "bytes") return transfer(OpKind::write, f[1], f[4], false), true;
  return false;
}

// "chmod PATH to 644", "truncate PATH to 10 bytes". `to`: the place of " to ". False: this is none.
bool LoggedFsLog::attributes(std::string_view text, size_t to) {
  NodeId id;
  uint32_t mode;
  if (text.starts_with("chmod ") && parse_whole(text.substr(text.rfind(' ') + 1), &mode, 8)) {
    set_ = {.valid = kAttrMode, .mode = mode & 07777};
    if (!file(text.substr(6, to - 6), &id)) return true;
  } else if (text.starts_with("truncate ") && text.ends_with(" bytes")) {
    set_ = {.valid = kAttrSize};
    if (!parse_whole(text.substr(to + 4, text.size() - to - 10), &set_.size) || !file(text.substr(9, to - 9), &id))
      return lost(), true;
  } else {
    return false;
  }
  op_.kind = OpKind::setattr;
  op_.set = &set_;
  add(id);
  return true;
}

void LoggedFsLog::message(std::string_view text) {
  if (named(text) || data(text)) return;
  uint32_t mode;
  if (begin_of(&text, "mkdir ") && parse_whole(text.substr(text.rfind(' ') + 1), &mode, 8))
    return make(OpKind::mkdir, text.substr(0, text.rfind(' ')), mode & 07777);
  if (begin_of(&text, "mknod ")) {
    std::vector<std::string_view> f;
    split_blanks(text, 3, &f);
    if (f.size() >= 2 && parse_whole(f[1], &mode, 8)) return make(OpKind::mknod, f[0], mode);
  }
  const size_t to = text.find(" to ");
  if (to != std::string_view::npos && text.find(" to ", to + 1) == std::string_view::npos) {
    if (text.starts_with("rename ")) return names(OpKind::rename, text.substr(7, to - 7), text.substr(to + 4));
    if (text.starts_with("hard link from ")) return names(OpKind::link, text.substr(to + 4), text.substr(15, to - 15));
    if (text.starts_with("symlink from ")) return make(OpKind::symlink, text.substr(13, to - 13), 0, text.substr(to + 4));
    if (attributes(text, to)) return;
  }
  sink_.note(ImportNotes::lost, "calls whose arguments the log does not show (readdir, chown, utimens and others)");
}

void LoggedFsLog::line(const Line& line) {
  // Without a date: a clock that goes back by half a day has passed midnight.
  if (line.day >= 0)
    day_ = line.day;
  else if (line.time + day_ < last_ - kDay / 2)
    day_ += kDay;
  last_ = std::max(last_, line.time + day_);
  const ThreadInfo*& who = threads_[line.pid];
  const int32_t pid = std::max(line.pid, 1);
  if (!who) who = sink_.thread(pid, pid, 0, line.command.substr(0, 15));
  op_ = {.start = line.time + day_, .thread = who->id, .uid = line.uid};
  op_.who = who;
  if (line.success)
    message(line.message);
  else
    failed(line.message);
}

bool is_loggedfs(std::string_view head) {
  for (unsigned lines = 0; lines < 20 && !head.empty(); ++lines) {
    const size_t end = std::min(head.find('\n'), head.size());
    Line line;
    if (parse(head.substr(0, end), &line)) return true;
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return false;
}

void import_loggedfs(ImportInput& input, const ImportOptions& options, ImportSink& sink) {
  LoggedFsLog log(options, sink);
  std::string_view text;
  while (next_text_line(input, sink, &text)) {
    Line line;
    if (parse(text, &line))
      log.line(line);
    else
      sink.note(ImportNotes::lost, kNotUnderstood);
  }
}

}  // namespace

const Importer kLoggedfsImporter = {
    "loggedfs",
    "LoggedFS log",
    "the logged wall clock taken for UTC, seconds or milliseconds as logged; without dates, since midnight of the first day",
    "durations, errors of failed calls (ENOENT is assumed for getattr, access and readlink), open flags other than the access "
    "mode, "
    "groups, "
    "extended attributes, names in listings, effects of fsync",
    is_loggedfs,
    import_loggedfs,
};

}  // namespace fsr
