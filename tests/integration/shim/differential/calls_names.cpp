// SPDX-License-Identifier: Apache-2.0
// Names: making, linking, moving, removing and listing them.
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "actor.hpp"

namespace differential {

namespace {

const std::string kLongTarget(4000, 't'), kTooLongTarget(4096, 't');
const char* const kTargets[] = {
    "a", "d", "d/a", "..", "/d", "l", "missing", "", "d/", "/", "../../a", kLongTarget.c_str(), kTooLongTarget.c_str()};
const Kind kTarget{"target",
                   {{0, "a"},
                    {1, "d"},
                    {2, "d/a"},
                    {3, ".."},
                    {4, "/d"},
                    {5, "l"},
                    {6, "missing"},
                    {7, "(empty)"},
                    {8, "d/"},
                    {9, "/"},
                    {10, "../../a"},
                    {11, "(4000)"},
                    {12, "(4096)"}}};
const Kind kType{"type",
                 {{S_IFREG, "S_IFREG"},
                  {S_IFREG, "S_IFREG"},
                  {0, "0"},
                  {S_IFIFO, "S_IFIFO"},
                  {S_IFSOCK, "S_IFSOCK"},
                  {S_IFCHR, "S_IFCHR"},
                  {S_IFBLK, "S_IFBLK"},
                  {S_IFDIR, "S_IFDIR"}}};
const Kind kUnlinkFlags{"flags", {{0, "0"}, {0, "0"}, {AT_REMOVEDIR, "AT_REMOVEDIR"}, {1, "1"}}};
const Kind kLinkFlags{"flags",
                      {{0, "0"}, {0, "0"}, {AT_SYMLINK_FOLLOW, "AT_SYMLINK_FOLLOW"}, {AT_EMPTY_PATH, "AT_EMPTY_PATH"}, {1, "1"}}};
const Kind kRenameFlags{"flags",
                        {{0, "0"},
                         {0, "0"},
                         {0, "0"},
                         {RENAME_NOREPLACE, "RENAME_NOREPLACE"},
                         {RENAME_EXCHANGE, "RENAME_EXCHANGE"},
                         {RENAME_WHITEOUT, "RENAME_WHITEOUT"},
                         {RENAME_WHITEOUT | RENAME_NOREPLACE, "RENAME_WHITEOUT|RENAME_NOREPLACE"},
                         {RENAME_EXCHANGE | RENAME_NOREPLACE, "RENAME_EXCHANGE|RENAME_NOREPLACE"},
                         {8, "8"}}};
const Kind kRoom{
    "room", {{0, nullptr}, {24, nullptr}, {50, nullptr}, {280, nullptr}, {1000, nullptr}, {32768, nullptr}, {32768, nullptr}}};

void mkdirat_(Process& p, const int64_t* a, Result& r) { answer(r, mkdirat(p.fd(a[0]), path_text(a[1]), mode_t(a[2]))); }

void mknodat_(Process& p, const int64_t* a, Result& r) {  // devices: /dev/null
  answer(r, mknodat(p.fd(a[0]), path_text(a[1]), mode_t(a[2] | a[3]), makedev(1, 3)));
}

void symlinkat_(Process& p, const int64_t* a, Result& r) { answer(r, symlinkat(kTargets[a[0]], p.fd(a[1]), path_text(a[2]))); }

void linkat_(Process& p, const int64_t* a, Result& r) {
  answer(r, linkat(p.fd(a[0]), path_text(a[1]), p.fd(a[2]), path_text(a[3]), int(a[4])));
}

// How an unnamed file gets a name without privilege.
void link_open(Process& p, const int64_t* a, Result& r) {
  std::string name = "self/fd/" + std::to_string(p.fd(a[0]));
  answer(r, linkat(p.proc_fd, name.c_str(), p.fd(a[1]), path_text(a[2]), AT_SYMLINK_FOLLOW));
}

void unlinkat_(Process& p, const int64_t* a, Result& r) { answer(r, unlinkat(p.fd(a[0]), path_text(a[1]), int(a[2]))); }

void renameat2_(Process& p, const int64_t* a, Result& r) {
  answer(r, renameat2(p.fd(a[0]), path_text(a[1]), p.fd(a[2]), path_text(a[3]), unsigned(a[4])));
}

void readlinkat_(Process& p, const int64_t* a, Result& r) {
  char to[5000] = "";
  ssize_t n = readlinkat(p.fd(a[0]), path_text(a[1]), to, size_t(a[2]) % sizeof to);
  if (answer(r, n)) r.say(std::string(to, size_t(n)));
}

struct Entry {
  std::string name;
  int64_t next;
  unsigned char type;
  bool operator<(const Entry& other) const { return name < other.name; }
};

// From the position on to the end. An errno.
int list_entries(int fd, size_t room, std::vector<Entry>* entries) {
  alignas(dirent64) char buffer[32768];
  for (;;) {
    ssize_t n = getdents64(fd, buffer, room);
    if (n <= 0) return n < 0 ? errno : 0;
    for (ssize_t at = 0; at < n;) {
      auto* e = reinterpret_cast<dirent64*>(buffer + at);
      entries->push_back({e->d_name, e->d_off, e->d_type});
      at += e->d_reclen;
    }
  }
}

void report(std::vector<Entry>& entries, Result& r) {
  std::sort(entries.begin(), entries.end());
  for (const Entry& e : entries) r.say(e.name + "/" + std::to_string(e.type) + " ");
}

void list(Process& p, const int64_t* a, Result& r) {
  if (!answer(r, lseek(p.fd(a[0]), 0, SEEK_SET))) return;
  std::vector<Entry> entries;
  r.error = list_entries(p.fd(a[0]), size_t(a[1]), &entries);
  r.value = int64_t(entries.size());
  report(entries, r);
}

// Returning to a remembered place gives what came behind it, all of it and nothing else.
void list_again(Process& p, const int64_t* a, Result& r) {
  int fd = p.fd(a[0]);
  if (!answer(r, lseek(fd, 0, SEEK_SET))) return;
  std::vector<Entry> all, rest;
  r.error = list_entries(fd, size_t(a[1]), &all);
  if (all.empty()) return;
  size_t place = size_t(p.op) % all.size();
  if (lseek(fd, all[place].next, SEEK_SET) < 0) r.fields[0] = errno;
  r.fields[1] = list_entries(fd, 32768, &rest);
  r.fields[2] = int64_t(rest.size());
  for (size_t i = 0; i < rest.size() && place + 1 + i < all.size(); ++i) r.fields[3] += rest[i].name != all[place + 1 + i].name;
}

}  // namespace

void add_name_calls(std::vector<Call>& calls) {
  calls.push_back({"mkdirat", 30, {&kDirectory, &kPath, &kMode}, mkdirat_});
  calls.push_back({"mknodat", 12, {&kDirectory, &kPath, &kType, &kMode}, mknodat_});
  calls.push_back({"symlinkat", 14, {&kTarget, &kDirectory, &kPath}, symlinkat_});
  calls.push_back({"linkat", 20, {&kFromDirectory, &kPath, &kDirectory, &kPath, &kLinkFlags}, linkat_});
  calls.push_back({"link-open", 5, {&kSlot, &kDirectory, &kPath}, link_open});
  calls.push_back({"unlinkat", 22, {&kDirectory, &kPath, &kUnlinkFlags}, unlinkat_});
  calls.push_back({"renameat2", 30, {&kFromDirectory, &kPath, &kDirectory, &kPath, &kRenameFlags}, renameat2_});
  calls.push_back({"readlinkat", 8, {&kDirectory, &kPath, &kLength}, readlinkat_});
  calls.push_back({"list", 14, {&kSlot, &kRoom}, list});
  calls.push_back({"list-again", 6, {&kSlot, &kRoom}, list_again});
}

}  // namespace differential
