// SPDX-License-Identifier: Apache-2.0
// Files in memory. Touching what lies behind the end of a file is answered with SIGBUS, here an errno.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "actor.hpp"

namespace differential {

namespace {

const Kind kProtection{"protection",
                       {{PROT_READ, "PROT_READ"},
                        {PROT_READ | PROT_WRITE, "PROT_READ|PROT_WRITE"},
                        {PROT_READ | PROT_WRITE, "PROT_READ|PROT_WRITE"},
                        {PROT_WRITE, "PROT_WRITE"},
                        {PROT_READ | PROT_EXEC, "PROT_READ|PROT_EXEC"},
                        {PROT_NONE, "PROT_NONE"}}};
const Kind kMapFlags{"flags",
                     {{MAP_SHARED, "MAP_SHARED"},
                      {MAP_SHARED, "MAP_SHARED"},
                      {MAP_PRIVATE, "MAP_PRIVATE"},
                      {MAP_SHARED_VALIDATE, "MAP_SHARED_VALIDATE"},
                      {MAP_SHARED | MAP_POPULATE, "MAP_SHARED|MAP_POPULATE"},
                      {MAP_SHARED_VALIDATE | MAP_SYNC, "MAP_SHARED_VALIDATE|MAP_SYNC"}}};
const Kind kSyncFlags{"flags",
                      {{MS_SYNC, "MS_SYNC"},
                       {MS_SYNC, "MS_SYNC"},
                       {MS_ASYNC, "MS_ASYNC"},
                       {MS_SYNC | MS_INVALIDATE, "MS_SYNC|MS_INVALIDATE"},
                       {MS_SYNC | MS_ASYNC, "MS_SYNC|MS_ASYNC"}}};
const Kind kPage{"page", {{0, nullptr}, {0, nullptr}, {4096, nullptr}, {8192, nullptr}, {65536, nullptr}, {100, nullptr}}};
const Kind kMapLength{"length",
                      {{100, nullptr}, {4096, nullptr}, {8192, nullptr}, {20000, nullptr}, {131072, nullptr}, {0, nullptr}}};
const Kind kPlace{"place",
                  {{0, nullptr},
                   {0, nullptr},
                   {1, nullptr},
                   {99, nullptr},
                   {4090, nullptr},
                   {4096, nullptr},
                   {8191, nullptr},
                   {60000, nullptr}}};
const Kind kMapAdvice{"advice",
                      {{MADV_DONTNEED, "MADV_DONTNEED"},
                       {MADV_WILLNEED, "MADV_WILLNEED"},
                       {MADV_REMOVE, "MADV_REMOVE"},
                       {MADV_POPULATE_READ, "MADV_POPULATE_READ"},
                       {MADV_POPULATE_WRITE, "MADV_POPULATE_WRITE"},
                       {MADV_PAGEOUT, "MADV_PAGEOUT"}}};

sigjmp_buf way_out;

void on_fault(int signal) { siglongjmp(way_out, signal); }

// Runs `touch`; the signal that it died of goes into the result.
template <class Touch>
void guarded(Result& r, Touch touch) {
  struct sigaction action = {}, before_bus, before_segv;
  action.sa_handler = on_fault;
  sigaction(SIGBUS, &action, &before_bus);
  sigaction(SIGSEGV, &action, &before_segv);
  int signal = sigsetjmp(way_out, 1);
  if (signal == 0) touch();
  if (signal != 0) r.fields[0] = signal;
  sigaction(SIGBUS, &before_bus, nullptr);
  sigaction(SIGSEGV, &before_segv, nullptr);
}

void mmap_(Process& p, const int64_t* a, Result& r) {
  void* begin = mmap(nullptr, size_t(a[2]), int(a[3]), int(a[4]), p.fd(a[1]), a[5]);
  if (begin == MAP_FAILED) {
    answer(r, -1);
    return;
  }
  p.side->mapped.store(1);
  Process::Map& map = p.maps[a[0]];
  if (map.begin != nullptr) munmap(map.begin, map.length);
  struct stat s = {};
  fstat(p.fd(a[1]), &s);
  map = {static_cast<char*>(begin), size_t(a[2]), int64_t(s.st_ino), a[5]};
}

// The part of a mapping that is asked for, at most 5000 bytes. False when there is none.
bool part(Process& p, const int64_t* a, Result& r, char** begin, size_t* length) {
  Process::Map& map = p.maps[a[0]];
  if (map.begin == nullptr || size_t(a[1]) >= map.length) {
    r.error = EFAULT;
    return false;
  }
  *begin = map.begin + a[1];
  *length = std::min<size_t>({size_t(a[2]), map.length - size_t(a[1]), 5000});
  return true;
}

// Whether a part of a mapping lies beyond the end of its file, as far as a descriptor of the file tells.
bool beyond_end(const Process& p, const Process::Map& map, const char* end) {
  struct stat s;
  for (int fd : p.files)
    if (fstat(fd, &s) == 0 && int64_t(s.st_ino) == map.file) return map.offset + (end - map.begin) > s.st_size;
  return true;
}

void peek(Process& p, const int64_t* a, Result& r) {
  char* begin;
  size_t length;
  r.fields[kAfterMapping] = p.side->changed_mapping;
  if (!part(p, a, r, &begin, &length)) return;
  if (!beyond_end(p, p.maps[a[0]], begin + length)) r.fields[kAfterMapping] = 0;
  guarded(r, [&] { r.add(begin, length); });
}

void poke(Process& p, const int64_t* a, Result& r) {
  char* begin;
  size_t length;
  if (!part(p, a, r, &begin, &length)) return;
  p.side->changed_mapping.store(1);
  r.fields[kAfterMapping] = p.side->set_times;
  guarded(r, [&] {
    for (size_t i = 0; i < length; ++i) begin[i] = char('a' + (p.op + i) % 26);
  });
}

// What is written or read changes while that is done, then.
bool is_of(const Process& p, int64_t slot, const Process::Map& map) {
  struct stat s = {};
  fstat(p.fd(slot), &s);
  return int64_t(s.st_ino) == map.file;
}

// A mapping as the buffer of another call.
void write_from_map(Process& p, const int64_t* a, Result& r) {
  char* begin;
  size_t length;
  if (!part(p, a, r, &begin, &length)) return;
  if (is_of(p, a[3], p.maps[a[0]])) return;
  r.fields[kSetId] = 1;  // of every file the times may differ
  answer(r, pwrite(p.fd(a[3]), begin, length, 0));
}

void read_to_map(Process& p, const int64_t* a, Result& r) {
  char* begin;
  size_t length;
  if (part(p, a, r, &begin, &length) && !is_of(p, a[3], p.maps[a[0]])) answer(r, pread(p.fd(a[3]), begin, length, 0));
}

void msync_(Process& p, const int64_t* a, Result& r) {
  Process::Map& map = p.maps[a[0]];
  if (map.begin != nullptr) answer(r, msync(map.begin, map.length, int(a[1])));
}

void munmap_(Process& p, const int64_t* a, Result& r) {
  Process::Map& map = p.maps[a[0]];
  if (map.begin != nullptr) answer(r, munmap(map.begin, map.length));
  map = {};
}

void mprotect_(Process& p, const int64_t* a, Result& r) {
  Process::Map& map = p.maps[a[0]];
  if (map.begin != nullptr) answer(r, mprotect(map.begin, map.length, int(a[1])));
}

void madvise_(Process& p, const int64_t* a, Result& r) {
  Process::Map& map = p.maps[a[0]];
  if (map.begin != nullptr) answer(r, madvise(map.begin, map.length, int(a[1])));
}

void mremap_(Process& p, const int64_t* a, Result& r) {
  Process::Map& map = p.maps[a[0]];
  if (map.begin == nullptr) return;
  void* begin = mremap(map.begin, map.length, size_t(a[1]), MREMAP_MAYMOVE);
  if (begin == MAP_FAILED) {
    answer(r, -1);
  } else {
    map = {static_cast<char*>(begin), size_t(a[1]), map.file, map.offset};
  }
}

}  // namespace

void add_mapping_calls(std::vector<Call>& calls) {
  constexpr const char* kArea = "mappings";
  calls.push_back({"mmap", 22, {&kNewMap, &kSlot, &kMapLength, &kProtection, &kMapFlags, &kPage}, mmap_, kArea});
  calls.push_back({"peek", 15, {&kMap, &kPlace, &kLength}, peek, kArea});
  calls.push_back({"poke", 15, {&kMap, &kPlace, &kLength}, poke, kArea});
  calls.push_back({"write-from-map", 3, {&kMap, &kPlace, &kLength, &kSlot}, write_from_map, kArea});
  calls.push_back({"read-to-map", 3, {&kMap, &kPlace, &kLength, &kSlot}, read_to_map, kArea});
  calls.push_back({"msync", 8, {&kMap, &kSyncFlags}, msync_, kArea});
  calls.push_back({"munmap", 5, {&kMap}, munmap_, kArea});
  calls.push_back({"mprotect", 3, {&kMap, &kProtection}, mprotect_, kArea});
  calls.push_back({"madvise", 3, {&kMap, &kMapAdvice}, madvise_, kArea});
  calls.push_back({"mremap", 2, {&kMap, &kMapLength}, mremap_, kArea});
}

}  // namespace differential
