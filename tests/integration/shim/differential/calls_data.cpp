// SPDX-License-Identifier: Apache-2.0
// Reading and writing, positions, sizes, holes, copies.
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "actor.hpp"

namespace differential {

namespace {

constexpr size_t kRoom = 1 << 18, kPatterns = 53;
alignas(4096) char buffer[kRoom + 4096];

const Kind kReadFlags{"flags", {{0, "0"}}, {{RWF_HIPRI, "RWF_HIPRI"}}, 20};
const Kind kWriteFlags{"flags",
                       {{0, "0"}},
                       {{RWF_HIPRI, "RWF_HIPRI"}, {RWF_DSYNC, "RWF_DSYNC"}, {RWF_SYNC, "RWF_SYNC"}, {RWF_APPEND, "RWF_APPEND"}},
                       15};
const Kind kWhence{"whence",
                   {{SEEK_SET, "SEEK_SET"},
                    {SEEK_CUR, "SEEK_CUR"},
                    {SEEK_END, "SEEK_END"},
                    {SEEK_DATA, "SEEK_DATA"},
                    {SEEK_HOLE, "SEEK_HOLE"},
                    {5, "5"}}};
const Kind kAllocate{"mode",
                     {{0, "0"},
                      {FALLOC_FL_KEEP_SIZE, "KEEP_SIZE"},
                      {FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, "PUNCH_HOLE|KEEP_SIZE"},
                      {FALLOC_FL_ZERO_RANGE, "ZERO_RANGE"},
                      {FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, "ZERO_RANGE|KEEP_SIZE"}}};
const Kind kAdvice{"advice",
                   {{POSIX_FADV_NORMAL, "NORMAL"},
                    {POSIX_FADV_DONTNEED, "DONTNEED"},
                    {POSIX_FADV_WILLNEED, "WILLNEED"},
                    {POSIX_FADV_SEQUENTIAL, "SEQUENTIAL"},
                    {99, "99"}}};
const Kind kSyncRange{"flags", {{0, "0"}, {7, "7"}, {2, "2"}, {8, "8"}}};

// Bytes that tell which op wrote them.
const char* pattern(const Process& p, size_t length) {
  static const std::vector<char> bytes = [] {
    std::vector<char> all(kRoom + kPatterns);
    for (size_t i = 0; i < all.size(); ++i) all[i] = char('A' + (i + i / 251) % kPatterns);
    return all;
  }();
  memcpy(buffer, bytes.data() + p.op % kPatterns, length);
  return buffer;
}

void got(Result& r, ssize_t n) {
  if (answer(r, n)) r.add(buffer, size_t(n));
}

void read_(Process& p, const int64_t* a, Result& r) { got(r, read(p.fd(a[0]), buffer, size_t(a[1]))); }
void pread_(Process& p, const int64_t* a, Result& r) { got(r, pread(p.fd(a[0]), buffer, size_t(a[1]), a[2])); }

// A position in memory that direct I/O may refuse.
void pread_odd(Process& p, const int64_t* a, Result& r) {
  ssize_t n = pread(p.fd(a[0]), buffer + 1, size_t(a[1]), a[2]);
  if (answer(r, n)) r.add(buffer + 1, size_t(n));
}

void preadv2_(Process& p, const int64_t* a, Result& r) {
  iovec parts[3] = {{buffer, 3}, {buffer + 3, 0}, {buffer + 3, size_t(a[1])}};
  got(r, preadv2(p.fd(a[0]), parts, 3, a[2], int(a[3])));
}

void write_(Process& p, const int64_t* a, Result& r) { answer(r, write(p.fd(a[0]), pattern(p, size_t(a[1])), size_t(a[1]))); }
void pwrite_(Process& p, const int64_t* a, Result& r) {
  answer(r, pwrite(p.fd(a[0]), pattern(p, size_t(a[1])), size_t(a[1]), a[2]));
}

void pwritev2_(Process& p, const int64_t* a, Result& r) {
  pattern(p, size_t(a[1]) + 3);
  iovec parts[3] = {{buffer, size_t(a[1])}, {buffer, 0}, {buffer + a[1], 3}};
  answer(r, pwritev2(p.fd(a[0]), parts, 3, a[2], int(a[3])));
}

void lseek_(Process& p, const int64_t* a, Result& r) {
  answer(r, lseek(p.fd(a[0]), a[1], int(a[2])));
  r.fields[kAfterMapping] = p.side->mapped;
  r.fields[kAfterAllocation] = p.side->allocated;
  r.fields[kOnDirectory] = p.on_directory(a[0], a[2]);
}

// Copying a file onto itself depends on which pages a pipe still refers to.
bool same_file(const Process& p, int64_t from, int64_t to) {
  struct stat s, t;
  return fstat(p.fd(from), &s) == 0 && fstat(p.fd(to), &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}
void ftruncate_(Process& p, const int64_t* a, Result& r) { answer(r, ftruncate(p.fd(a[0]), a[1])); }
void truncate_(Process& p, const int64_t* a, Result& r) { answer(r, truncate(path_text(a[0]), a[1])); }
void fallocate_(Process& p, const int64_t* a, Result& r) {
  r.fields[kSetId] = p.has_set_id(a[0]);
  p.side->allocated.store(1);
  answer(r, fallocate(p.fd(a[0]), int(a[1]), a[2], a[3]));
}
void fsync_(Process& p, const int64_t* a, Result& r) { answer(r, fsync(p.fd(a[0]))); }
void fdatasync_(Process& p, const int64_t* a, Result& r) { answer(r, fdatasync(p.fd(a[0]))); }
void sync_file_range_(Process& p, const int64_t* a, Result& r) {
  answer(r, sync_file_range(p.fd(a[0]), a[1], a[2], unsigned(a[3])));
}
void fadvise(Process& p, const int64_t* a, Result& r) { r.error = posix_fadvise(p.fd(a[0]), a[1], a[2], int(a[3])); }

// An offset of -1 stands for the file's own position.
off_t* position(off_t* offset) { return *offset < 0 ? nullptr : offset; }

void copy_range(Process& p, const int64_t* a, Result& r) {
  off_t from = a[1], to = a[3];
  answer(r, copy_file_range(p.fd(a[0]), position(&from), p.fd(a[2]), position(&to), size_t(a[4]), 0));
  r.fields[0] = from;
  r.fields[1] = to;
}

void sendfile_(Process& p, const int64_t* a, Result& r) {
  if (same_file(p, a[0], a[2])) return;
  off_t from = a[1];
  answer(r, sendfile(p.fd(a[2]), p.fd(a[0]), position(&from), size_t(a[3])));
  r.fields[0] = from;
}

// Moves bytes from a file through a pipe into another file.
void splice_(Process& p, const int64_t* a, Result& r) {
  int pipe_fds[2];
  if (same_file(p, a[0], a[2])) return;
  if (pipe2(pipe_fds, O_NONBLOCK | O_CLOEXEC) != 0) return;
  off_t from = a[1], to = a[3];
  ssize_t in = splice(p.fd(a[0]), position(&from), pipe_fds[1], nullptr, size_t(a[4]), SPLICE_F_NONBLOCK);
  if (in < 0) r.fields[2] = errno;
  r.fields[0] = in;
  ssize_t out = in > 0 ? splice(pipe_fds[0], nullptr, p.fd(a[2]), position(&to), size_t(in), SPLICE_F_NONBLOCK) : 0;
  answer(r, out);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

// All of it, by a descriptor of its own.
void content(Process& p, const int64_t* a, Result& r) {
  int fd = openat(p.fd(a[0]), path_text(a[1]), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (!answer(r, fd)) return;
  r.value = 0;
  ssize_t n;
  while ((n = read(fd, buffer, kRoom)) > 0 && r.value < (1 << 22)) {
    r.value += n;
    r.add(buffer, size_t(n));
  }
  if (n < 0) r.error = errno;
  close(fd);
}

}  // namespace

void add_data_calls(std::vector<Call>& calls) {
  calls.push_back({"read", 20, {&kSlot, &kLength}, read_});
  calls.push_back({"pread", 15, {&kSlot, &kLength, &kOffset}, pread_});
  calls.push_back({"pread-to-odd-address", 2, {&kSlot, &kLength, &kOffset}, pread_odd});
  calls.push_back({"preadv2", 8, {&kSlot, &kLength, &kOffset, &kReadFlags}, preadv2_});
  calls.push_back({"write", 25, {&kSlot, &kLength}, write_});
  calls.push_back({"pwrite", 15, {&kSlot, &kLength, &kOffset}, pwrite_});
  calls.push_back({"pwritev2", 10, {&kSlot, &kLength, &kOffset, &kWriteFlags}, pwritev2_});
  calls.push_back({"lseek", 15, {&kSlot, &kOffset, &kWhence}, lseek_});
  calls.push_back({"ftruncate", 8, {&kSlot, &kOffset}, ftruncate_});
  calls.push_back({"truncate", 5, {&kPath, &kOffset}, truncate_});
  calls.push_back({"fallocate", 8, {&kSlot, &kAllocate, &kOffset, &kLength}, fallocate_});
  calls.push_back({"fsync", 2, {&kSlot}, fsync_});
  calls.push_back({"fdatasync", 2, {&kSlot}, fdatasync_});
  calls.push_back({"sync_file_range", 2, {&kSlot, &kOffset, &kLength, &kSyncRange}, sync_file_range_});
  calls.push_back({"fadvise", 2, {&kSlot, &kOffset, &kLength, &kAdvice}, fadvise});
  calls.push_back({"copy_file_range", 8, {&kFromSlot, &kOffset, &kSlot, &kOffset, &kSomeLength}, copy_range});
  calls.push_back({"sendfile", 6, {&kFromSlot, &kOffset, &kSlot, &kSomeLength}, sendfile_});
  calls.push_back({"splice", 6, {&kFromSlot, &kOffset, &kSlot, &kOffset, &kSomeLength}, splice_});
  calls.push_back({"content", 15, {&kDirectory, &kPath}, content});
}

}  // namespace differential
