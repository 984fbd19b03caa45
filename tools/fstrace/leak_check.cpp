// SPDX-License-Identifier: Apache-2.0
#include "leak_check.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "anonymize/anonymizer.hpp"
#include "trace/live_state.hpp"
#include "trace/model.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

constexpr size_t kWithin = 8;          // bytes of a secret that is looked for within strings
constexpr size_t kAnywhere = 12;       // and within the file
constexpr unsigned kMostReported = 5;  // of each place
constexpr size_t kLongest = 4096;      // bytes of a secret, as names are at most

uint64_t start_of(std::string_view text) {
  uint64_t v;
  memcpy(&v, text.data(), sizeof v);
  return v;
}

// The words of texts that are not names: paths, commands, sources of mounts.
template <class Visit>
void each_word(std::string_view text, Visit visit) {
  constexpr std::string_view kBorders = " \t\n/:,;=()[]{}<>|&\"'`$*?!@#%^\\+";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(kBorders, at), text.size());
    if (end > at) visit(text.substr(at, end - at));
    at = end + 1;
  }
}

template <class Visit>
void each_part(std::string_view text, char border, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(border, at), text.size());
    visit(text.substr(at, end - at));
    at = end + 1;
  }
}

// Visits the texts of a header that describe the captured machine. Other texts are the recorder's own words, or names of kernels
// and file systems.
template <class Visit>
void each_private_text(const TraceHeader& h, Visit visit) {
  for (const std::string* s : {&h.host, &h.directory, &h.mount_source, &h.command, &h.filter}) visit(*s);
  visit(h.kernel.substr(plain_kernel(h.kernel)));
  visit(h.mount_type.substr(plain_mount_type(h.mount_type)));
  each_part(h.mount_options, ',', [&](std::string_view option) {
    if (!plain_mount_option(option)) visit(option);
  });
  for (const std::string& s : h.mounts_below) visit(s);
  for (const std::string& s : h.not_seen) visit(s);
}

// Names that an operation carries, each for itself.
template <class Visit>
void each_name(const Op& op, Visit visit) {
  visit(kind_traits(op.kind) & kHasXattr ? op.name.substr(plain_xattr(op.name)) : op.name);
  visit(op.name2);
  if (op.kind == OpKind::listxattr)
    each_part(op.data, '\0', [&](std::string_view name) { visit(name.substr(plain_xattr(name))); });
  for (const DirEntry& e : op.entries) visit(e.name);
  if (op.kind == OpKind::symlink || op.kind == OpKind::readlink) each_part(op.data, '/', visit);
}

}  // namespace

// Returns the length without the extension, which pseudonyms keep. Short names are found by chance.
static size_t secret_size(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot != std::string_view::npos && common_extension(name.substr(dot + 1)) ? dot : name.size();
}

void LeakCheck::learn_secret(std::string_view secret) {
  if (secret.empty() || secret == "." || secret == ".." || secret.size() > kLongest) return;
  auto [at, fresh] = secrets_.emplace(secret);
  if (!fresh || secret_size(*at) < kWithin) return;
  by_start_.emplace(start_of(*at), *at);
  starts_[uint8_t((*at)[0]) << 8 | uint8_t((*at)[1])] = true;
}

void LeakCheck::learn_words(std::string_view text) {
  each_word(text, [&](std::string_view word) { learn_secret(word); });
}

void LeakCheck::learn_op(const Op& op) {
  each_name(op, [&](std::string_view name) { learn_secret(name); });
  if (op.who) learn_words(op.who->command);
  if (op.who) original_processes_.insert(uint64_t(op.who->pid));
  // Short values of attributes may be common; only values of this length are secrets. Values that the kernel interprets are left
  // out, because they may contain only modes.
  if (kind_traits(op.kind) & kHasXattr && op.data.size() >= kAnywhere && plain_xattr(op.name) < op.name.size())
    learn_secret(op.data);
}

void LeakCheck::learn(TraceReader& original) {
  each_private_text(original.header(), [&](std::string_view text) { learn_words(text); });
  LiveState state;
  original.load_state(INT64_MIN, state);
  state.each_name([&](ObjectId, std::string_view name, ObjectId, uint32_t) { learn_secret(name); });
  state.each_object([&](const LiveObject& o) { learn_words(o.target); });
  for (OpBatch batch; original.next(batch);)
    for (const Op& op : batch.ops) learn_op(op);
}

void LeakCheck::add_marker(const std::string& marker) {
  if (marker.size() < kAnywhere)
    throw std::runtime_error("--marker " + marker + ": expected at least " + std::to_string(kAnywhere) + " bytes");
  learn_secret(marker);
}

void LeakCheck::found(std::string_view secret, const char* where) {
  ++count_;
  if (reported_by_place_[where] < kMostReported && reported_.insert(std::string(secret) + where).second &&
      ++reported_by_place_[where])
    leaks_.push_back(escape_text(secret) + " " + where);
}

void LeakCheck::search(std::string_view bytes, size_t end, size_t least, const char* where) {
  if (bytes.size() < kWithin) return;
  end = std::min(end, bytes.size() - kWithin + 1);
  for (size_t i = 0; i < end; ++i) {
    if (!starts_[uint8_t(bytes[i]) << 8 | uint8_t(bytes[i + 1])]) continue;
    const auto [first, last] = by_start_.equal_range(start_of(bytes.substr(i)));
    for (auto it = first; it != last; ++it)
      if (it->second.size() >= least && bytes.substr(i, it->second.size()) == it->second) found(it->second, where);
  }
}

void LeakCheck::check_text(std::string_view text, const char* where) {
  if (secrets_.contains(std::string(text)))
    found(text, where);
  else
    search(text, text.size(), kWithin, where);
}

void LeakCheck::check_words(std::string_view text, const char* where) {
  each_word(text, [&](std::string_view word) { check_text(word, where); });
}

void LeakCheck::check_op(const Op& op) {
  each_name(op, [&](std::string_view name) { check_text(name, "is in a name"); });
  if (op.who) check_words(op.who->command, "is in a command");
  if (op.who) processes_.insert(uint64_t(op.who->pid));
  if (op.owner && op.owner <= INT32_MAX) owners_.insert(op.owner);
  if (!op.data.empty() && op.kind != OpKind::symlink && op.kind != OpKind::readlink)
    search(op.data, op.data.size(), kWithin, "is in data");
}

// Pseudonyms of processes may by chance be numbers of the original, too. But the owner of a lock that is a process of the
// original, and none of this trace, was not renamed.
void LeakCheck::check_owners() {
  for (uint64_t owner : owners_)
    if (original_processes_.contains(owner) && !processes_.contains(owner))
      found("process " + std::to_string(owner), "is the owner of a lock");
}

void LeakCheck::check_strings(TraceReader& trace) {
  each_private_text(trace.header(), [&](std::string_view text) { check_words(text, "is in the header"); });
  for (const std::string* s : {&trace.header().mount_options, &trace.header().filter})
    search(*s, s->size(), kWithin, "is in the header");
  for (const std::string& s : trace.header().edits) search(s, s.size(), kWithin, "is in the header");
  if (const TraceClosing* closing = trace.closing())
    search(closing->reason, closing->reason.size(), kWithin, "is in the closing statement");
  LiveState state;
  trace.load_state(INT64_MIN, state);
  state.each_name([&](ObjectId, std::string_view name, ObjectId, uint32_t) { check_text(name, "is in a name at the start"); });
  state.each_object([&](const LiveObject& o) { check_words(o.target, "is in a symlink at the start"); });
  for (OpBatch batch; trace.next(batch);)
    for (const Op& op : batch.ops) check_op(op);
  state.each_lock([&](const LiveLock& l) {
    if (l.owner && l.owner <= INT32_MAX) owners_.insert(l.owner);
  });
  check_owners();
}

void LeakCheck::check_bytes(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::runtime_error(file + ": " + strerror(errno));
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> zstd(ZSTD_createDCtx(), ZSTD_freeDCtx);
  // Bytes at the end that may begin a secret stay for the next round.
  auto scan = [&](std::string& window, const char* where, bool last) {
    const size_t keep = last ? 0 : std::min(window.size(), kLongest);
    search(window, window.size() - keep, kAnywhere, where);
    window.erase(0, window.size() - keep);
  };
  std::string raw, plain, in(1 << 18, '\0'), out(ZSTD_DStreamOutSize(), '\0');
  ssize_t n;
  while ((n = read(fd, in.data(), in.size())) > 0) {
    raw.append(in.data(), size_t(n));
    scan(raw, "is in the file's bytes", false);
    ZSTD_inBuffer from{in.data(), size_t(n), 0};
    // A full output may leave more inside.
    for (bool full = true; zstd && (from.pos < from.size || full);) {
      ZSTD_outBuffer to{out.data(), out.size(), 0};
      if (ZSTD_isError(ZSTD_decompressStream(zstd.get(), &to, &from))) {
        zstd.reset();  // damage is reported where the operations are read
        break;
      }
      full = to.pos == to.size;
      plain.append(out.data(), to.pos);
      if (plain.size() > (1 << 20)) scan(plain, "is in the decompressed bytes", false);
    }
  }
  const int error = errno;
  close(fd);
  if (n < 0) throw std::runtime_error(file + ": " + strerror(error));
  scan(raw, "is in the file's bytes", true);
  scan(plain, "is in the decompressed bytes", true);
}

}  // namespace fsr::fstrace
