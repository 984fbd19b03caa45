// SPDX-License-Identifier: Apache-2.0
// The calls that DFTracer 0.x to 1.x logs with the categories POSIX and STDIO, and their arguments.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <nlohmann/json.hpp>

#include "dftracer.hpp"
#include "import_text.hpp"
#include "util/clock_ns.hpp"

namespace fsr::dftracer {

namespace {

using nlohmann::json;

// Arguments, each NAME:KIND. p: path; f: descriptor, and the path of the event's file; n: directory's descriptor; d, x, o:
// number; w: whence; m: mode of fopen; t: size times count. Without a NAME: "-" a buffer, "@" a pointer to what the log does not
// show.
struct Shape {
  const char *event, *call, *arguments;
  enum Result { logged, zero, moved, stream } result;  // moved: logged, in units of `size`; stream: a descriptor made up
};
constexpr Shape kShapes[] = {
    {"access", "access", "fname:p amode:x", Shape::zero},
    {"chdir", "chdir", "fname:p", Shape::zero},
    {"chmod", "chmod", "fname:p mode:o", Shape::zero},
    {"chown", "chown", "fname:p owner:d group:d", Shape::zero},
    {"close", "close", "fd:f", Shape::zero},
    {"creat", "creat", "fname:p mode:o", Shape::logged},
    {"creat64", "creat", "fname:p mode:o", Shape::logged},
    {"fclose", "close", "stream:f", Shape::zero},
    {"fdatasync", "fdatasync", "fd:f", Shape::zero},
    {"fopen", "open", "fname:p mode:m", Shape::stream},
    {"fopen64", "open", "fname:p mode:m", Shape::stream},
    {"fread", "read", "stream:f - count:t", Shape::moved},
    {"fsync", "fsync", "fd:f", Shape::zero},
    {"ftruncate", "ftruncate", "fd:f length:d", Shape::zero},
    {"fwrite", "write", "stream:f - count:t", Shape::moved},
    {"__fxstat", "fstat", "fd:f @", Shape::zero},
    {"__fxstat64", "fstat", "fd:f @", Shape::zero},
    {"__fxstatat", "newfstatat", "dirfd:n fname:p @ flags:x", Shape::zero},
    {"lchown", "lchown", "fname:p owner:d group:d", Shape::zero},
    {"link", "link", "fname:p newpath:p", Shape::zero},
    {"lseek", "lseek", "fd:f offset:d whence:w", Shape::logged},
    {"lseek64", "lseek", "fd:f offset:d whence:w", Shape::logged},
    {"__lxstat", "lstat", "fname:p @", Shape::zero},
    {"__lxstat64", "lstat", "fname:p @", Shape::zero},
    {"mkdir", "mkdir", "fname:p mode:o", Shape::zero},
    {"mmap", "mmap", "@ length:d @ flags:x fd:f offset:d", Shape::zero},
    {"mmap64", "mmap", "@ length:d @ flags:x fd:f offset:d", Shape::zero},
    {"open", "open", "fname:p flags:x mode:o", Shape::logged},
    {"open64", "open", "fname:p flags:x mode:o", Shape::logged},
    {"openat", "openat", "dirfd:n pathname:p flags:x mode:o", Shape::logged},
    {"pread", "pread64", "fd:f - count:d offset:d", Shape::logged},
    {"pread64", "pread64", "fd:f - count:d offset:d", Shape::logged},
    {"pwrite", "pwrite64", "fd:f - count:d offset:d", Shape::logged},
    {"pwrite64", "pwrite64", "fd:f - count:d offset:d", Shape::logged},
    {"read", "read", "fd:f - count:d", Shape::logged},
    {"readlink", "readlink", "fname:p - bufsize:d", Shape::logged},
    {"remove", "unlink", "fname:p", Shape::zero},
    {"rename", "rename", "fname:p newpath:p", Shape::zero},
    {"rmdir", "rmdir", "fname:p", Shape::zero},
    {"symlink", "symlink", "fname:p path2:p", Shape::zero},
    {"truncate", "truncate", "fname:p length:d", Shape::zero},
    {"unlink", "unlink", "fname:p", Shape::zero},
    {"write", "write", "fd:f - count:d", Shape::logged},
    {"__xstat", "stat", "fname:p @", Shape::zero},
    {"__xstat64", "stat", "fname:p @", Shape::zero},
};

// Calls that change no file and no position that the log would show.
constexpr std::array<std::string_view, 13> kNoFiles = {"dup",     "dup2", "execl", "execlp", "execv",     "execve",  "execvp",
                                                       "execvpe", "fork", "ftell", "getcwd", "__execvpe", "closedir"};

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

constexpr int32_t kMadeUp = 1 << 20;  // descriptors of streams begin here, which no process reaches by itself

// Returns the made-up descriptor of a stream, which the log names by its file alone.
int32_t descriptor_of(std::string_view path) { return kMadeUp + int32_t(std::hash<std::string_view>()(path) % kMadeUp); }

}  // namespace

std::string Calls::path(const json& args, const std::string& name) const {
  const bool own = name == "fname";
  std::string text = scalar(args, name);
  if (!text.empty()) return text;
  const auto it = names_.find(scalar(args, own ? "fhash" : name + "_hash"));
  return it == names_.end() ? std::string() : it->second;
}

bool Calls::argument(std::string_view spec, const json& args, std::string* out) const {
  if (spec == "-" || spec == "@") return out->append(spec == "-" ? "\"\"" : "0x1"), true;
  const std::string name(spec.substr(0, spec.find(':')));
  const char kind = spec.back();
  if (kind == 'p') {
    const std::string text = path(args, name);
    *out += in_quotes(text);
    return !text.empty();
  }
  if (kind == 'm') {
    *out += fmt::format("{:#x}, 0666", flags_of(scalar(args, name)));
    return true;
  }
  int64_t value = 0;
  const bool given = number(args, name, &value);
  if (kind == 'f') {
    const std::string text = path(args, "fname");
    if (name == "stream") value = descriptor_of(text);
    *out += fmt::format("{}<{}>", value, text);
    return !text.empty() && text.find('>') == std::string::npos && (given || name == "stream");
  }
  int64_t size = 1;
  if (kind == 't' && (!number(args, "size", &size) || __builtin_mul_overflow(value, size, &value))) return false;
  if (kind == 'n' && value == AT_FDCWD) return *out += "AT_FDCWD", given;
  *out += kind == 'x'   ? fmt::format("{:#x}", uint64_t(value))
          : kind == 'o' ? fmt::format("{:#o}", uint64_t(value))
                        : fmt::format("{}", value);
  return given || name == "mode" || name == "flags";  // only O_CREAT comes with a mode
}

// The events that tell what hashes stand for: "FH", and in older logs none.
bool Calls::learn(const json& event) {
  if (scalar(event, "ph") != "M") return false;
  const auto args = event.find("args");
  if (scalar(event, "name") == "FH" && args != event.end() && args->is_object())
    names_[scalar(*args, "value")] = scalar(*args, "name");
  return true;
}

bool Calls::place(const json& event, Event* out) {
  int64_t pid, tid, time, duration;
  if (!number(event, "pid", &pid) || !number(event, "ts", &time) || !number(event, "dur", &duration)) return false;
  if (!number(event, "tid", &tid)) tid = pid;
  constexpr int64_t kMost = INT64_MAX / 4000;
  if (pid < 0 || pid > INT32_MAX || time < 0 || time > kMost || duration < 0 || duration > kMost) return false;
  out->start = time * 1000;
  out->end = out->start + duration * 1000;
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

std::optional<Event> Calls::call(const json& event) {
  if (!event.is_object() || learn(event)) return {};
  const std::string category = scalar(event, "cat");
  if (category != "POSIX" && category != "STDIO") {
    sink_.note(ImportNotes::ignored, "events of the application, no calls on files");
    return {};
  }
  const std::string name = scalar(event, "name");
  const Shape* shape = find(name);
  if (!shape) {
    const bool known = std::find(kNoFiles.begin(), kNoFiles.end(), name) != kNoFiles.end();
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
  if (shape->result == Shape::stream)
    result = descriptor_of(path(*args, "fname"));
  else if (!given && shape->result == Shape::logged)
    return sink_.note(ImportNotes::lost, "calls without a result"), std::nullopt;
  else if (!given)
    sink_.note(ImportNotes::changed, "calls whose outcome is not logged: success is assumed");
  if (shape->result == Shape::moved && number(*args, "size", &size) && __builtin_mul_overflow(result, size, &result))
    return sink_.note(ImportNotes::lost, "calls with impossible numbers"), std::nullopt;
  std::string outcome = fmt::format("{}", result);
  if (result < 0) {
    const bool by_name = std::string_view(shape->arguments).find(":p") != std::string_view::npos;
    if (!by_name) return sink_.note(ImportNotes::lost, "failed calls whose error the log does not show"), std::nullopt;
    sink_.note(ImportNotes::changed, "failed calls whose error is not logged: ENOENT is assumed");
    outcome = "-1 ENOENT (No such file or directory)";
  }
  const int64_t duration = out.end - out.start;
  out.tail = fmt::format(") = {} <{}.{:09}>", outcome, duration / kSecond, duration % kSecond);
  return out;
}

}  // namespace fsr::dftracer
