// SPDX-License-Identifier: Apache-2.0
// The calls that DFTracer 0.x to 2.x logs with the categories POSIX and STDIO, and their arguments.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "dftracer.hpp"
#include "import_text.hpp"
#include "util/clock_ns.hpp"

namespace fsr::dftracer {

// Arguments, each NAME:KIND. p: path; a: absolute path; f: descriptor, and the path of the event's file; n: directory's
// descriptor; d, x, o: number; w: whence; m: mode of fopen; t: size times count. Without a NAME: "-" a buffer, "@" a pointer to
// what the log does not show, "=TEXT" the text.
struct Shape {
  const char *event, *call, *arguments;
  // moved: logged, in units of `size`; opened: a descriptor, made up where it is not logged
  enum Result { logged, zero, moved, opened } result;
};

namespace {

using nlohmann::json;

constexpr Shape kShapes[] = {
    {"access", "access", "fname:p amode:x", Shape::zero},
    {"chdir", "chdir", "fname:p", Shape::zero},
    {"chmod", "chmod", "fname:p mode:o", Shape::zero},
    {"chown", "chown", "fname:p owner:d group:d", Shape::zero},
    {"close", "close", "fd:f", Shape::zero},
    {"creat", "creat", "fname:p mode:o", Shape::opened},
    {"creat64", "creat", "fname:p mode:o", Shape::opened},
    {"fchmod", "fchmod", "fd:f mode:o", Shape::zero},
    {"fchown", "fchown", "fd:f owner:d group:d", Shape::zero},
    {"fclose", "close", "stream:f", Shape::zero},
    {"fdatasync", "fdatasync", "fd:f", Shape::zero},
    {"fopen", "open", "fname:p mode:m", Shape::opened},
    {"fopen64", "open", "fname:p mode:m", Shape::opened},
    {"fread", "read", "stream:f - count:t", Shape::moved},
    {"fstat64", "fstat", "fd:f @", Shape::zero},
    {"fsync", "fsync", "fd:f", Shape::zero},
    {"ftruncate", "ftruncate", "fd:f length:d", Shape::zero},
    {"ftruncate64", "ftruncate", "fd:f length:d", Shape::zero},
    {"fwrite", "write", "stream:f - count:t", Shape::moved},
    {"__fxstat", "fstat", "fd:f @", Shape::zero},
    {"__fxstat64", "fstat", "fd:f @", Shape::zero},
    {"__fxstatat", "newfstatat", "dirfd:n fname:p @ flags:x", Shape::zero},
    {"lchown", "lchown", "fname:p owner:d group:d", Shape::zero},
    {"link", "link", "fname:p newpath:p", Shape::zero},
    {"lseek", "lseek", "fd:f offset:d whence:w", Shape::logged},
    {"lseek64", "lseek", "fd:f offset:d whence:w", Shape::logged},
    {"lstat64", "lstat", "fname:p @", Shape::zero},
    {"__lxstat", "lstat", "fname:p @", Shape::zero},
    {"__lxstat64", "lstat", "fname:p @", Shape::zero},
    {"mkdir", "mkdir", "fname:p mode:o", Shape::zero},
    {"mkdirat", "mkdirat", "=AT_FDCWD pathname:a mode:o", Shape::zero},
    {"mmap", "mmap", "@ length:d @ flags:x fd:f offset:d", Shape::zero},
    {"mmap64", "mmap", "@ length:d @ flags:x fd:f offset:d", Shape::zero},
    {"open", "open", "fname:p flags:x mode:o", Shape::opened},
    {"open64", "open", "fname:p flags:x mode:o", Shape::opened},
    {"__open64_2", "open", "fname:p flags:x", Shape::opened},
    {"__open_2", "open", "fname:p flags:x", Shape::opened},
    {"openat", "openat", "dirfd:n pathname:p flags:x mode:o", Shape::opened},
    {"openat64", "openat", "=AT_FDCWD pathname:a flags:x mode:o", Shape::opened},
    {"__openat64_2", "openat", "=AT_FDCWD path:a flags:x", Shape::opened},
    {"__openat_2", "openat", "=AT_FDCWD path:a flags:x", Shape::opened},
    {"posix_fallocate", "fallocate", "fd:f =0 offset:d len:d", Shape::zero},
    {"posix_fallocate64", "fallocate", "fd:f =0 offset:d len:d", Shape::zero},
    {"pread", "pread64", "fd:f - count:d offset:d", Shape::logged},
    {"pread64", "pread64", "fd:f - count:d offset:d", Shape::logged},
    {"__pread64_chk", "pread64", "fd:f - count:d offset:d", Shape::logged},
    {"__pread_chk", "pread64", "fd:f - count:d offset:d", Shape::logged},
    {"preadv", "pread64", "fd:f - ret:d offset:d", Shape::logged},
    {"preadv64", "pread64", "fd:f - ret:d offset:d", Shape::logged},
    {"pwrite", "pwrite64", "fd:f - count:d offset:d", Shape::logged},
    {"pwrite64", "pwrite64", "fd:f - count:d offset:d", Shape::logged},
    {"pwritev", "pwrite64", "fd:f - ret:d offset:d", Shape::logged},
    {"pwritev64", "pwrite64", "fd:f - ret:d offset:d", Shape::logged},
    {"read", "read", "fd:f - count:d", Shape::logged},
    {"__read_chk", "read", "fd:f - count:d", Shape::logged},
    {"readlink", "readlink", "fname:p - bufsize:d", Shape::logged},
    {"readv", "read", "fd:f - ret:d", Shape::logged},
    {"remove", "unlink", "fname:p", Shape::zero},
    {"rename", "rename", "fname:p newpath:p", Shape::zero},
    {"renameat", "renameat", "=AT_FDCWD oldpath:a =AT_FDCWD newpath:a", Shape::zero},
    {"rmdir", "rmdir", "fname:p", Shape::zero},
    {"stat64", "stat", "fname:p @", Shape::zero},
    {"symlink", "symlink", "fname:p path2:p", Shape::zero},
    {"truncate", "truncate", "fname:p length:d", Shape::zero},
    {"truncate64", "truncate", "fname:p length:d", Shape::zero},
    {"unlink", "unlink", "fname:p", Shape::zero},
    {"unlinkat", "unlinkat", "=AT_FDCWD pathname:a flags:x", Shape::zero},
    {"write", "write", "fd:f - count:d", Shape::logged},
    {"writev", "write", "fd:f - ret:d", Shape::logged},
    {"__xstat", "stat", "fname:p @", Shape::zero},
    {"__xstat64", "stat", "fname:p @", Shape::zero},
};

// Calls that change no file and no position that the log would show.
constexpr std::string_view kNoFiles[] = {"clearerr",   "closedir",     "dirfd",   "dup",     "dup2",      "execl",    "execlp",
                                         "execv",      "execve",       "execvp",  "execvpe", "__execvpe", "exit",     "_exit",
                                         "feof",       "ferror",       "fileno",  "fork",    "ftell",     "ftello",   "ftello64",
                                         "getcwd",     "__getcwd_chk", "madvise", "mlock",   "mlockall",  "mprotect", "munlock",
                                         "munlockall", "munmap",       "sysconf", "umask",   "wait",      "waitpid"};

const Shape* find(std::string_view event) {
  for (const Shape& s : kShapes)
    if (event == s.event) return &s;
  return nullptr;
}

// A number, which some versions write as a string.
bool number(const json& args, const std::string& name, int64_t* out) {
  const auto it = args.find(name);
  if (it == args.end()) return false;
  if (it->is_number_integer()) return *out = it->get<int64_t>(), true;
  return it->is_string() && parse_whole(it->get_ref<const std::string&>(), out);
}

std::string scalar(const json& object, const std::string& name) {
  const auto it = object.find(name);
  if (it == object.end()) return {};
  return it->is_string() ? it->get<std::string>() : it->dump();
}

// Returns the letter of an event's phase. Since version 2 it is a number: see TracePhaseType in DFTracer's enumeration.h.
char phase(const json& event) {
  const std::string text = scalar(event, "ph");
  constexpr std::string_view kLetters = "?XCAM";
  const bool digit = text.size() == 1 && text[0] > '0' && size_t(text[0] - '0') < kLetters.size();
  return text.empty() ? '?' : digit ? kLetters[size_t(text[0] - '0')] : text[0];
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (uint8_t(c) < ' ')
      out += fmt::format("\\x{:02x}", uint8_t(c));
    else
      out += c;
  }
  return out + '"';
}

// fopen(3).
int flags_of(std::string_view mode) {
  const bool both = mode.find('+') != std::string_view::npos;
  if (mode.starts_with('r')) return both ? O_RDWR : O_RDONLY;
  return (both ? O_RDWR : O_WRONLY) | O_CREAT | (mode.starts_with('a') ? O_APPEND : O_TRUNC);
}

bool is_path(std::string_view spec) { return spec.ends_with(":p") || spec.ends_with(":a"); }

constexpr int32_t kMadeUp = 1 << 20;  // made-up descriptors begin here, which no process reaches by itself

}  // namespace

// Returns the made-up descriptor of a file that the log names by its path alone: a stream, or any file since version 2.
int32_t Calls::descriptor_of(const std::string& path) {
  const auto next = int32_t(kMadeUp + descriptors_.size() % (INT32_MAX - kMadeUp));
  return descriptors_.try_emplace(path, next).first->second;
}

std::string Calls::path(const json& args, const std::string& name) const {
  const bool own = name == "fname";
  std::string text = scalar(args, name);
  if (!text.empty()) return text;
  const auto it = names_.find(scalar(args, own ? "fhash" : name + "_hash"));
  return it == names_.end() ? std::string() : it->second;
}

bool Calls::argument(std::string_view spec, const json& args, std::string* out) {
  if (spec == "-" || spec == "@") return out->append(spec == "-" ? "\"\"" : "0x1"), true;
  if (spec.front() == '=') return out->append(spec.substr(1)), true;
  const std::string name(spec.substr(0, spec.find(':')));
  const char kind = spec.back();
  if (kind == 'p' || kind == 'a') {
    const std::string text = path(args, name);
    *out += in_quotes(text);
    return !text.empty() && (kind == 'p' || text.front() == '/');
  }
  if (kind == 'm') {
    *out += fmt::format("{:#x}, 0666", flags_of(scalar(args, name)));
    return true;
  }
  int64_t value = 0;
  const bool given = number(args, name, &value);
  if (kind == 'f') {
    const std::string text = path(args, "fname");
    *out += fmt::format("{}<{}>", given && name != "stream" ? value : descriptor_of(text), text);
    return !text.empty() && text.find('>') == std::string::npos;
  }
  int64_t size = 1;
  if (kind == 't' && (!number(args, "size", &size) || __builtin_mul_overflow(value, size, &value))) return false;
  if (kind == 'n' && value == AT_FDCWD) return *out += "AT_FDCWD", given;
  *out += kind == 'x'   ? fmt::format("{:#x}", uint64_t(value))
          : kind == 'o' ? fmt::format("{:#o}", uint64_t(value))
                        : fmt::format("{}", value);
  return given || name == "mode" || name == "flags";  // only O_CREAT comes with a mode
}

// Reads the metadata: "FH" tells what hashes stand for, and "CM" the unit of times. Older logs have none.
bool Calls::learn(const json& event) {
  if (phase(event) != 'M') return false;
  const auto args = event.find("args");
  if (args == event.end() || !args->is_object()) return true;
  const std::string of = scalar(event, "name"), name = scalar(*args, "name"), value = scalar(*args, "value");
  if (of == "FH") names_[value] = name;
  if (of == "CM" && name == "time_metric")
    unit_ = value == "NS" ? 1 : value == "MS" ? 1'000'000 : value == "SEC" ? kSecond : 1000;
  return true;
}

bool Calls::place(const json& event, Event* out) {
  int64_t pid, tid, time, duration;
  if (!number(event, "pid", &pid) || !number(event, "ts", &time) || !number(event, "dur", &duration)) return false;
  if (!number(event, "tid", &tid)) tid = pid;
  const int64_t most = INT64_MAX / 4 / unit_;
  if (pid < 0 || pid > INT32_MAX || time < 0 || time > most || duration < 0 || duration > most) return false;
  out->start = time * unit_;
  out->end = out->start + duration * unit_;
  // A thread's number in some versions contains that of the process twice; several hosts may have the same ones.
  const json& args = event["args"];
  const std::string host = scalar(args, "hhash") + scalar(args, "hostname");
  const auto numbered = [&](const std::string& who, int64_t wanted) {
    const auto [it, added] = threads_.try_emplace(who, 0);
    if (!added) return it->second;
    int32_t n = std::max(int32_t(wanted & INT32_MAX), 1);
    while (used_[n]++) n = std::max((n + 1) & INT32_MAX, 1);
    return it->second = n;
  };
  out->pid = numbered(fmt::format("{}/{}", host, pid), pid);
  const bool first = tid == 0 || tid == pid || tid == 2 * pid;
  out->tid = first ? out->pid : numbered(fmt::format("{}/{}/{}", host, pid, tid), tid);
  return true;
}

// True: the log gives the call's file the name of the directory below whose descriptor it was opened.
bool Calls::is_blind(const Shape& shape, int32_t pid, const json& args, bool has_result) {
  const std::string_view arguments = shape.arguments;
  const std::pair<int32_t, std::string> place(pid, path(args, "fname"));
  if (arguments.find(":f") != std::string_view::npos) return blind_.contains(place);
  int64_t directory = AT_FDCWD;
  if (has_result || !arguments.starts_with("dirfd:n pathname:p") || path(args, "pathname").starts_with('/') ||
      !number(args, "dirfd", &directory) || directory == AT_FDCWD)
    return false;
  blind_.insert(place);
  return true;
}

std::optional<Event> Calls::call(const json& event) {
  if (!event.is_object() || learn(event)) return {};
  const std::string category = scalar(event, "cat");
  if (category != "POSIX" && category != "STDIO") {
    sink_.note(ImportNotes::ignored, "events of the application, no calls on files");
    return {};
  }
  if (phase(event) == 'A') return sink_.note(ImportNotes::lost, "calls that the log has only as sums"), std::nullopt;
  const std::string name = scalar(event, "name");
  const Shape* shape = find(name);
  if (!shape) {
    const bool known = std::ranges::find(kNoFiles, name) != std::end(kNoFiles);
    if (known)
      sink_.note(ImportNotes::ignored, "calls that do not reach the file system");
    else
      sink_.note(ImportNotes::lost, "calls whose arguments the log does not show (opendir, fcntl, fseek and others)");
    return {};
  }
  Event out;
  const auto args = event.find("args");
  bool good = args != event.end() && args->is_object() && place(event, &out);
  out.head = std::string(shape->call) + "(";
  std::vector<std::string_view> specs;
  split_blanks(shape->arguments, 8, &specs);
  for (size_t i = 0; good && i < specs.size(); ++i) {
    if (i) out.head += ", ";
    good = argument(specs[i], *args, &out.head);
  }
  if (!good) {
    sink_.note(ImportNotes::lost, "events without the file, the number or the time that a call needs");
    return {};
  }
  int64_t result = 0, size = 1;
  const bool given = number(*args, "ret", &result);
  if (is_blind(*shape, out.pid, *args, given)) {
    sink_.note(ImportNotes::lost, "calls on files that are opened below another's descriptor, whose name the log gives them");
    return {};
  }
  if (shape->result == Shape::opened && !given) {
    const auto named = std::ranges::find_if(specs, is_path);
    result = descriptor_of(path(*args, std::string(named->substr(0, named->find(':')))));
    if (!open_.insert({out.pid, int32_t(result)}).second)
      sink_.note(ImportNotes::changed, "files that a process opens while it has them open: their descriptors are not logged");
  }
  if (std::string_view(shape->call) == "close") open_.erase({out.pid, descriptor_of(path(*args, "fname"))});
  if (!given && (shape->result == Shape::logged || shape->result == Shape::moved))
    return sink_.note(ImportNotes::lost, "calls without a result"), std::nullopt;
  else if (!given)
    sink_.note(ImportNotes::changed, "calls whose outcome is not logged: success is assumed");
  if (shape->result == Shape::moved && number(*args, "size", &size) && __builtin_mul_overflow(result, size, &result))
    return sink_.note(ImportNotes::lost, "calls with impossible numbers"), std::nullopt;
  std::string outcome = fmt::format("{}", result);
  if (result < 0) {
    const bool by_name = std::ranges::any_of(specs, is_path);
    if (!by_name) return sink_.note(ImportNotes::lost, "failed calls whose error the log does not show"), std::nullopt;
    sink_.note(ImportNotes::changed, "failed calls whose error is not logged: ENOENT is assumed");
    outcome = "-1 ENOENT (No such file or directory)";
  }
  const int64_t duration = out.end - out.start;
  out.tail = fmt::format(") = {} <{}.{:09}>", outcome, duration / kSecond, duration % kSecond);
  return out;
}

}  // namespace fsr::dftracer
