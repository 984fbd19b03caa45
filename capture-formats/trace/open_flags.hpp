// SPDX-License-Identifier: Apache-2.0
// The O_* bits in traces and models are those of x86-64. Other processors give four of them other places (asm/fcntl.h in Linux'
// arch folders: arm64 and powerpc); all others are the same wherever Linux runs, but for alpha, mips, parisc and sparc.
#pragma once

#include <fcntl.h>

#include <cstdint>

namespace fsr {

struct OpenFlagPlaces {
  uint32_t direct, large_file, directory, no_follow;
};

constexpr OpenFlagPlaces kTraceOpenFlags{0040000, 0100000, 0200000, 0400000};
// The kernel sets the bit of large files, which the C library calls 0: it is the one of the four that is left.
constexpr OpenFlagPlaces kLocalOpenFlags{O_DIRECT, 0740000u ^ (O_DIRECT | O_DIRECTORY | O_NOFOLLOW), O_DIRECTORY, O_NOFOLLOW};

#ifdef __linux__
static_assert((O_DIRECT | O_DIRECTORY | O_NOFOLLOW) == ((O_DIRECT | O_DIRECTORY | O_NOFOLLOW) & 0740000),
              "this processor has places of its own for O_* bits");
#endif

constexpr uint32_t moved_open_flags(uint32_t flags, const OpenFlagPlaces& from, const OpenFlagPlaces& to) {
  const auto moved = [&](uint32_t old_place, uint32_t place) { return flags & old_place ? place : 0; };
  return (flags & ~(from.direct | from.large_file | from.directory | from.no_follow)) | moved(from.direct, to.direct) |
         moved(from.large_file, to.large_file) | moved(from.directory, to.directory) | moved(from.no_follow, to.no_follow);
}

// Returns flags of this machine as they stand in a trace, and the other way round.
#ifdef __linux__
constexpr uint32_t trace_open_flags(uint32_t local) { return moved_open_flags(local, kLocalOpenFlags, kTraceOpenFlags); }
constexpr uint32_t local_open_flags(uint32_t in_trace) { return moved_open_flags(in_trace, kTraceOpenFlags, kLocalOpenFlags); }
#else
struct OpenFlag {
  uint32_t in_trace, local;
};
constexpr OpenFlag kOpenFlags[] = {
    {0100, O_CREAT},       {0200, O_EXCL},        {0400, O_NOCTTY},      {01000, O_TRUNC},    {02000, O_APPEND},
    {04000, O_NONBLOCK},   {010000, O_DSYNC},     {04010000, O_SYNC},    {0040000, O_DIRECT}, {0200000, O_DIRECTORY},
    {0400000, O_NOFOLLOW}, {01000000, O_NOATIME}, {02000000, O_CLOEXEC},
};
constexpr uint32_t trace_open_flags(uint32_t local) {
  uint32_t flags = local & O_ACCMODE;
  for (const OpenFlag& f : kOpenFlags) flags |= (local & f.local) == f.local ? f.in_trace : 0;
  return flags;
}
constexpr uint32_t local_open_flags(uint32_t in_trace) {
  uint32_t flags = in_trace & O_ACCMODE;
  for (const OpenFlag& f : kOpenFlags) flags |= (in_trace & f.in_trace) == f.in_trace ? f.local : 0;
  return flags;
}
#endif

}  // namespace fsr
