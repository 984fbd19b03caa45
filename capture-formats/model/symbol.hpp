// SPDX-License-Identifier: Apache-2.0
// A symbol: what a model remembers of one operation. It has no name, no number of an object and no content.
//
// An object is known by its relation to what the same thread and the load touched before. Plain data. Fields and their meaning
// are those of docs/model-format.md.
#pragma once

#include <sys/stat.h>

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "op.hpp"

namespace fsr {

// Types of objects: S_IFMT bits, shifted by 12.
constexpr uint8_t kDirectoryType = S_IFDIR >> 12, kRegularType = S_IFREG >> 12, kSymlinkType = S_IFLNK >> 12;

enum class Relation : uint8_t {
  none,    // the operation has no such object
  recent,  // this thread touched it; bucket: how many others since, 0 to 3, then by powers of two
  next,    // it was touched after the thread's previous object when that one was touched last
  known,   // touched before, not lately by this thread; bucket: binary digits of the number of touches since
  fresh,   // not touched before: it existed, or the operation makes it
  again,   // the name that the thread looked up last and did not find
  hot,     // the object of a name that is used often; bucket: number of the name
  name,    // such a name itself, whose object is missing or new; bucket: its number
  entry,   // in a directory that the thread has listed, and not used since; bucket: twice the number of later such listings,
           // and 1 for the last such entry
  root,    // the directory that has everything
};

// Bits of the argument of a lock, beside its mode.
constexpr uint32_t kLockMode = 0xffff;
constexpr uint32_t kLockWaits = 1u << 16;
constexpr uint32_t kLockOfInstance = 1u << 17;  // a byte range of the open instance, not of the process

// Open instances that a process has at its begin from the one that started it, at most: those used last.
constexpr size_t kMostInherited = 16;

struct Reference {
  Relation relation = Relation::none;
  uint16_t bucket = 0;
  auto operator<=>(const Reference&) const = default;
};

// Where a transfer begins. repeat: where the last one of this class of size on the file began.
// again: where an earlier one did.
enum class Place : uint8_t { none, onward, begin, append, end, elsewhere, repeat, again };
// The result, or a new size. made: a write that begins beyond the end of its file.
enum class Extent : uint8_t { none, complete, partial, empty, made, same, smaller };

// A step of a thread that is no operation. Its symbol has the kind null, one of these as `handle`, and a number of a class of
// processes as `argument`.
enum class ProcessStep : uint8_t { starts = 1, waits = 2 };  // starts a process; waits until one that it started has ended

struct Symbol {
  static constexpr size_t kFields = 13;
  OpKind kind = OpKind::null;
  uint16_t error = 0;  // errno
  uint8_t type = 0;    // S_IFMT bits of the object, shifted by 12; 0: unknown
  Reference object;    // of the object, if the operation has no open instance
  Reference parent;    // of the directory of a fresh or missing name
  Reference second;    // of the replaced object of a rename, or the new directory of a link
  uint8_t handle = 0;  // open instances of the thread: 1 is the one used last, 8 any older one, 9 another thread's; 0: none
  Place place = Place::none;
  Extent extent = Extent::none;
  uint8_t size = 0;       // class of a size, binary digits; of a file that is found, pairs of them; of a lock its range, from 1
  uint32_t argument = 0;  // flags, mode or mask, according to the kind
  uint64_t bytes = 0;     // of a transfer or file, if each step of a course has its own; 0: of the class
  uint64_t offset = 0;    // of a transfer that begins elsewhere, and 1 more; 0: any

  auto operator<=>(const Symbol&) const = default;
  bool is_process_step() const { return kind == OpKind::null; }
  ProcessStep process_step() const { return ProcessStep(handle); }
  bool uses_own_handle() const { return !is_process_step() && handle > 0 && handle < 9; }
  std::array<uint64_t, kFields> fields() const;
  // False: a field has no such value.
  static bool from_fields(const std::array<uint64_t, kFields>& fields, Symbol* symbol);
};

struct SymbolHash {
  size_t operator()(const Symbol& symbol) const;
};

using SymbolId = uint32_t;
constexpr size_t kMostHotNames = 8192;

// In the place of a class of sizes: bytes between the end of a file and a write beyond it.
constexpr uint8_t kBeyondEnd = 200;
// Such classes for files that are found in a listing: of any directory, and from kInHotDirectory that of an often used name.
constexpr uint8_t kInDirectory = 128, kInHotDirectory = 192;
constexpr size_t kListedNames = 64;  // often used directories that have classes of their own
static_assert(kInHotDirectory + kListedNames == 256);

constexpr SymbolId kEndOfProcess = 0;  // numbers of symbols begin at 1

// Classes of sizes of files that are found, and the coarser ones of rare symbols.
inline uint8_t file_class(uint64_t bytes) { return uint8_t((std::bit_width(bytes) + 1) / 2); }
inline uint8_t coarse_file_class(uint8_t file_class) { return uint8_t(file_class / 4 * 4 + (file_class ? 1 : 0)); }
// True: the symbol finds a file of the thread's past, whose size is known.
bool finds_file(OpKind kind);

// True: the operation makes an open instance.
inline bool opens_object(OpKind kind) {
  return kind == OpKind::open || kind == OpKind::opendir || kind == OpKind::create || kind == OpKind::tmpfile;
}

inline uint8_t digits(uint64_t value) { return uint8_t(std::bit_width(value)); }

// Extended attributes have a number instead of a name; user attributes have 0.
uint32_t xattr_number(std::string_view name);
std::string_view xattr_of(uint32_t number);

}  // namespace fsr
